// SPDX-License-Identifier: BSD-3-Clause
// Experiment `message`: messages through channels, from 4 bytes to 16 MiB, PM messages, up to their
// longest, and segments of segmented buffers, to and fro and one way, as paper 001 measured its
// own; on a node beside two bare copies through shared memory or memcpy, between nodes beside puts.
// Long messages on a node go between private buffers, and between buffers in the heap, which both
// ranks have mapped. Rank 0 and one other rank play, the others sleep.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "os/clock.hpp"

#include "experiment.hpp"
#include "message_ways.hpp"
#include "output.hpp"
#include "paper.hpp"
#include "slices.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_messages = 1;
constexpr std::uint32_t order_end = 2;  // free the channels, which takes both
constexpr std::uint64_t message_bytes_most = 16 << 20;
constexpr std::uint64_t mapped_bytes_least = 256 << 10;
constexpr std::array<std::uint64_t, 12> message_sizes{
    4,       8,        64,        256,     1 << 10, 4 << 10,
    8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, message_bytes_most};

// What both players know of a case.
struct MessageCase {
    std::uint64_t bytes = 0;
    std::uint64_t rounds = 0;
    std::uint64_t to_and_fro = 0;  // messages in a round, in each direction
    std::uint64_t burst = 0;       // messages in a round, from rank 0
};

// The time of one message, each of one round.
struct MessageTimes {
    std::vector<double> ping_pong_ns;
    std::vector<double> burst_ns;
};

// Times on rank 0. Each round measures all of these ways in turn.
struct MessageOutcome {
    MessageTimes channels;
    MessageTimes pm;  // empty where the messages are too long for it
    // by channels out of mapped buffers; empty between nodes, and for short messages
    MessageTimes mapped;
    MessageTimes segbuf;  // empty where the messages are too long for it
    MessageTimes yardstick;
};

// What is sent, and where what is received goes.
struct MessageBuffers {
    char* source = nullptr;
    char* target = nullptr;
};

// One of the two ranks.
class MessagePlayer {
public:
    MessagePlayer(const Job& job, const Regions& memory, int other)
        : job_(job),
          other_(other),
          is_near_(job.node_of(0) == job.node_of(job.conducts() ? other : job.rank())),
          private_{memory.source(job.rank()), memory.target(job.rank())},
          mapped_{mapped_source_.data(), mapped_target_.data()},
          channels_(job.rank(), other),
          pm_(other),
          puts_(memory, job.rank(), other),
          bare_(board_of(job.rank()), board_of(is_near_ ? other : job.rank())) {}

    MessageOutcome play(const MessageCase& what) {
        MessageOutcome outcome;
        std::optional<SegbufWay> segbuf;
        if (what.bytes <= SegbufWay::bytes_max) segbuf.emplace(other_, what.bytes);
        for (std::uint64_t i = 0; i < what.rounds; ++i) {
            exchange(channels_, private_, sizeof(std::uint64_t), 2);  // both are awake
            play_by(channels_, private_, what, outcome.channels);
            if (is_near_ && what.bytes >= mapped_bytes_least)
                play_by(channels_, mapped_, what, outcome.mapped);
            if (what.bytes <= PmWay::bytes_max) {
                play_by(pm_, private_, what, outcome.pm);
                pm_.settle();
            }
            if (segbuf) play_by(*segbuf, private_, what, outcome.segbuf);
            play_yardstick(what, outcome.yardstick);
        }
        return outcome;
    }

    [[nodiscard]] bool is_near() const { return is_near_; }

private:
    [[nodiscard]] static double since(std::uint64_t start_ns, std::uint64_t messages) {
        return static_cast<double>(os::now_ns() - start_ns) / static_cast<double>(messages);
    }

    [[nodiscard]] BareBoard& board_of(int rank) const {
        return *reinterpret_cast<BareBoard*>(job_.starter(rank));
    }

    template <typename Way>
    void play_by(Way& way,
                 const MessageBuffers& buffers,
                 const MessageCase& what,
                 MessageTimes& times) {
        times.ping_pong_ns.push_back(exchange(way, buffers, what.bytes, what.to_and_fro));
        times.burst_ns.push_back(burst(way, buffers, what.bytes, what.burst));
    }

    void play_yardstick(const MessageCase& what, MessageTimes& times) {
        if (!is_near_) return play_by(puts_, private_, what, times);
        if (what.bytes <= BareWay::bytes_max) return play_by(bare_, private_, what, times);
        if (!job_.conducts()) return;
        const std::uint64_t start = os::now_ns();
        copy_by_memcpy(private_.target, private_.source, what.bytes, what.burst);
        times.burst_ns.push_back(since(start, what.burst));
        times.ping_pong_ns.push_back(times.burst_ns.back());
    }

    // Half a round trip. The bytes that rank 0 sends are in its cache; the other rank sends back
    // the bytes that it has received.
    template <typename Way>
    double exchange(Way& way,
                    const MessageBuffers& buffers,
                    std::uint64_t bytes,
                    std::uint64_t count) {
        const std::uint64_t start = os::now_ns();
        for (std::uint64_t i = 0; i < count; ++i) {
            if (job_.conducts()) {
                std::memcpy(buffers.source, &i, std::min<std::uint64_t>(bytes, sizeof i));
                way.send(buffers.source, bytes);
                way.receive(buffers.target, bytes);
            } else {
                way.receive(buffers.target, bytes);
                way.send(buffers.target, bytes);
            }
        }
        return since(start, 2 * count);
    }

    // From rank 0, until the other one has them all and has said so.
    template <typename Way>
    double burst(Way& way,
                 const MessageBuffers& buffers,
                 std::uint64_t bytes,
                 std::uint64_t count) {
        const std::uint64_t start = os::now_ns();
        if (job_.conducts()) {
            way.send_many(buffers.source, bytes, count);
            way.receive(buffers.target, sizeof(std::uint64_t));
        } else {
            way.receive_many(buffers.target, bytes, count);
            way.send(buffers.target, sizeof(std::uint64_t));
        }
        return since(start, count);
    }

    const Job& job_;
    int other_;
    bool is_near_;
    HeapMemory mapped_source_{message_bytes_most + sizeof(std::uint64_t)};
    HeapMemory mapped_target_{message_bytes_most + sizeof(std::uint64_t)};
    MessageBuffers private_;
    MessageBuffers mapped_;
    ChannelWay channels_;
    PmWay pm_;
    PutWay puts_;
    BareWay bare_;
};

MessageCase message_case_of(std::uint64_t bytes, bool is_near, const Options& options) {
    const auto length = static_cast<double>(bytes);
    const double trip_ns = is_near ? 300 + length / 5 : 30e3 + length;
    const double message_ns = is_near ? 30 + length / 8 : 500 + length;
    const double round_ns = (is_near ? 300e3 : 3e6) / (options.is_quick ? 10 : 1);
    const auto times = [&](double each_ns) {
        return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(round_ns / each_ns), 4,
                                         100'000);
    };
    MessageCase what;
    what.bytes = bytes;
    what.rounds = options.slices > 0 ? static_cast<std::uint64_t>(options.slices)
                  : options.is_quick ? 3
                                     : 41;
    what.to_and_fro = times(trip_ns);
    what.burst = times(message_ns);
    return what;
}

class Message {
public:
    Message(Job& job, const Options& options, MessagePlayer& player)
        : job_(job), options_(options), player_(player) {}

    std::vector<Row> run() {
        std::vector<std::uint64_t> sizes = options_.sizes;
        if (sizes.empty()) sizes.assign(message_sizes.begin(), message_sizes.end());
        if (sizes.back() > message_bytes_most) give_up("messages are measured up to 16 MiB");
        Progress progress("message", static_cast<int>(sizes.size()));
        std::vector<Row> rows_of_kind[8];  // to and fro and one way, of each kind
        for (const std::uint64_t bytes : sizes) {
            const MessageCase what = message_case_of(bytes, player_.is_near(), options_);
            Order order{order_messages, 0, {what.bytes, what.rounds, what.to_and_fro, what.burst}};
            job_.give(order);
            const MessageOutcome outcome = player_.play(what);
            job_.join();
            trip_ns_ = player_.is_near() ? job_.round_trip_ns(20e3) : 0;
            const MessageTimes& yardstick = outcome.yardstick;
            std::vector<Row>* rows = rows_of_kind;
            for (const auto& [kind, ours] : {std::pair("", &outcome.channels),
                                             {", mapped", &outcome.mapped},
                                             {", PM", &outcome.pm},
                                             {", segbuf", &outcome.segbuf}}) {
                if (!ours->burst_ns.empty()) {
                    rows[0].push_back(
                        row_of(kind, false, what, ours->ping_pong_ns, yardstick.ping_pong_ns));
                    rows[1].push_back(row_of(kind, true, what, ours->burst_ns, yardstick.burst_ns));
                }
                rows += 2;
            }
            progress.step(std::to_string(bytes) + " bytes");
        }
        std::vector<Row> rows;
        for (const std::vector<Row>& some : rows_of_kind)
            rows.insert(rows.end(), some.begin(), some.end());
        return rows;
    }

private:
    [[nodiscard]] std::string yardstick_of(bool is_one_way, std::uint64_t bytes) const {
        if (!player_.is_near())
            return is_one_way ? "acp_copy, the same bytes" : "two puts, half of both";
        return bytes <= BareWay::bytes_max ? "two bare copies" : "memcpy";
    }

    [[nodiscard]] Row row_of(const char* kind,
                             bool is_one_way,
                             const MessageCase& what,
                             std::vector<double> ours_ns,
                             const std::vector<double>& theirs_ns) const {
        Comparison comparison;
        comparison.distance = classify(trip_ns_, far_boundary_ns(job_.round_trips()));
        std::vector<double> ratios;
        for (std::size_t i = 0; i < ours_ns.size(); ++i)
            ratios.push_back(ours_ns[i] / theirs_ns[i]);
        comparison.ratio = median_of(std::move(ratios));
        comparison.operations = what.rounds * (is_one_way ? what.burst : 2 * what.to_and_fro);
        comparison.test_ns = summarize(std::move(ours_ns));
        comparison.yardstick_ns = summarize(theirs_ns);
        Row row;
        row.experiment = "message";
        row.name = std::string(is_one_way ? "one way" : "to and fro") + kind;
        row.mode = mode_by_environment();
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = what.bytes;
        fill(row, comparison);
        fill_yardstick(row, comparison, yardstick_of(is_one_way, what.bytes));
        row.paper = paper_001_at(row.experiment, row.name, row.bytes);
        if (is_one_way) row.extra.emplace_back("M/s", 1 / row.latency_us.median);
        return row;
    }

    Job& job_;
    const Options& options_;
    MessagePlayer& player_;
    double trip_ns_ = 0;  // the round trip of a cache line, measured after the last case
};

}  // namespace

int run_message(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    if (job.starter_bytes() < sizeof(BareBoard))
        give_up("the starter memory is too small; type:\n  " + std::string(call.usage));
    const int partner = job.partner();
    const Regions memory(job, Regions::Kind::registered,
                         message_bytes_most + sizeof(std::uint64_t));
    if (!job.conducts() && job.rank() != partner) {
        job.follow([](const Order&) {});
        return 0;
    }
    std::optional<MessagePlayer> player;
    player.emplace(job, memory, job.conducts() ? partner : 0);
    if (!job.conducts()) {
        job.follow([&](const Order& order) {
            if (order.what == order_end) player.reset();
            if (order.what != order_messages) return;
            (void)player->play(
                {order.arguments[0], order.arguments[1], order.arguments[2], order.arguments[3]});
        });
        return 0;
    }
    const std::vector<Row> rows = Message(job, call.options, *player).run();
    job.give({order_end, 0, {}});
    player.reset();
    job.join();
    return finish(call.options, rows);
}

}  // namespace acp::bench
