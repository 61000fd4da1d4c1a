// SPDX-License-Identifier: BSD-3-Clause
// Experiment `flag`: how long a receiver waits that spins on plain loads for a flag in its own
// memory, as the memory model teaches it. Two ranks answer each other's flags, so that both are
// receivers and one clock is enough; the other ranks sleep. Where both are on one machine also one
// way, by its clock: to a receiver that makes no call at all, and to one in acp_wait_word. On one
// node and between nodes, in starter and registered memory. All ranks.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/process.hpp"
#include "os/text_file.hpp"

#include "copy.hpp"
#include "experiment.hpp"
#include "net_rounds.hpp"
#include "output.hpp"
#include "verdict.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t order_answer = 1;
constexpr std::uint32_t order_receive = 2;

constexpr std::uint64_t region_bytes = 4096;
constexpr std::uint64_t data_bytes = 1024;
// where the flag lies in source and target, behind the data
constexpr std::uint64_t flag_offset = 2048;
constexpr std::uint64_t flag_bytes = 8;

// Flags that go one way, whose times the receiver notes where its own data would be; as long apart
// that each finds the receiver waiting.
constexpr std::uint64_t noted_flags = data_bytes / sizeof(std::uint64_t);
constexpr std::uint64_t pause_ns = 300'000;

// How the receiver of flags that go one way waits.
enum class Receiver : std::uint64_t { spins, waits_for_word };

enum class Way : std::uint64_t { flag_alone, ordered, continued };

constexpr Way ways[] = {Way::flag_alone, Way::ordered, Way::continued};

const char* name_of(Way way) {
    switch (way) {
        case Way::ordered:
            return "data, then flag";
        case Way::continued:
            return "data, then flag by ACP_HANDLE_CONT";
        case Way::flag_alone:
            break;
    }
    return "flag alone";
}

// One of the two ranks: puts flags into the memory of the other and sees the other's come.
class Player {
public:
    Player(const Job& job, const Regions& memory, int other, Way way)
        : memory_(memory), own_(job.rank()), other_(other), way_(way) {}

    // Puts data, where there is any, and flag number `value`; returns without waiting.
    void send(std::uint64_t value) {
        word(memory_.source(own_) + flag_offset).store(value, std::memory_order_relaxed);
        const acp_ga_t target = memory_.target_ga(other_);
        const acp_ga_t source = memory_.source_ga(own_);
        acp_handle_t order = ACP_HANDLE_NULL;
        if (way_ != Way::flag_alone) {
            word(memory_.source(own_)).store(value, std::memory_order_relaxed);
            word(memory_.source(own_) + data_bytes - flag_bytes)
                .store(value, std::memory_order_relaxed);
            order = acp_copy(target, source, data_bytes, ACP_HANDLE_NULL);
            if (way_ == Way::continued) order = ACP_HANDLE_CONT;
        }
        sent_ = acp_copy(target + flag_offset, source + flag_offset, flag_bytes, order);
    }

    // Spins on plain loads of the own flag until it is `value`, and looks at the data it was put
    // behind.
    void receive(std::uint64_t value) const {
        char* target = memory_.target(own_);
        // acquire: pairs with the order between data and flag; the data are read below.
        while (word(target + flag_offset).load(std::memory_order_acquire) != value) os::relax();
        if (way_ == Way::flag_alone) return;
        const std::uint64_t first = word(target).load(std::memory_order_relaxed);
        const std::uint64_t last =
            word(target + data_bytes - flag_bytes).load(std::memory_order_relaxed);
        if (first != value || last != value) {
            give_up("flag " + std::to_string(value) + " came before its data: they are of flags " +
                    std::to_string(first) + " and " + std::to_string(last));
        }
    }

    // Waits for flag number `value` or a later one.
    void await(std::uint64_t value, Receiver receiver) const {
        char* const flag = memory_.target(own_) + flag_offset;
        if (receiver == Receiver::waits_for_word) {
            if (acp_wait_word(flag, flag_bytes, ACP_WORD_GREATER_EQUAL, value, -1) != ACP_OK)
                give_up(acp_error_message());
            return;
        }
        // acquire: as in receive()
        while (word(flag).load(std::memory_order_acquire) < value) os::relax();
    }

    // Until what was sent last is complete: its words may be written again.
    void complete() const { acp_complete(sent_); }

    // The number of the last flag that came.
    [[nodiscard]] std::uint64_t seen() const {
        return word(memory_.target(own_) + flag_offset).load(std::memory_order_relaxed);
    }

private:
    static std::atomic_ref<std::uint64_t> word(char* place) {
        return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place));
    }

    const Regions& memory_;
    int own_;
    int other_;
    Way way_;
    acp_handle_t sent_ = ACP_HANDLE_NULL;
};

struct Memories {
    Regions starter;
    Regions registered;
};

// The far rank's part: answers arguments[3] flags, the first of them number arguments[4] + 1.
void answer(const Job& job, const Memories& memories, const Order& order) {
    if (order.arguments[0] != static_cast<std::uint64_t>(job.rank())) return;
    const Regions& memory = order.arguments[1] == 0 ? memories.starter : memories.registered;
    Player player(job, memory, 0, static_cast<Way>(order.arguments[2]));
    const std::uint64_t seen = order.arguments[4];
    for (std::uint64_t i = 1; i <= order.arguments[3]; ++i) {
        player.receive(seen + i);
        player.complete();
        player.send(seen + i);
    }
    player.complete();
}

// The far rank's part where flags go one way: notes when it sees each of them, from number
// arguments[4] + 1 on.
void receive(const Job& job, const Memories& memories, const Order& order) {
    if (order.arguments[0] != static_cast<std::uint64_t>(job.rank())) return;
    const Regions& memory = order.arguments[1] == 0 ? memories.starter : memories.registered;
    const Player player(job, memory, 0, static_cast<Way>(order.arguments[2]));
    auto* const noted_ns = reinterpret_cast<std::uint64_t*>(memory.source(job.rank()));
    for (std::uint64_t i = 0; i < noted_flags; ++i) {
        player.await(order.arguments[4] + 1 + i, static_cast<Receiver>(order.arguments[3]));
        noted_ns[i] = os::now_ns();
    }
}

// Whether the two ranks read one clock. Collective.
bool is_one_machine(const Job& job, int far) {
    const auto boot = os::read_text_file("/proc/sys/kernel/random/boot_id");
    RankResult mine{};
    mine.values[0] = std::hash<std::string>{}(boot.value_or(std::to_string(job.rank())));
    const std::vector<RankResult> all = job.exchange(mine);
    return all[0].values[0] == all[static_cast<std::size_t>(far)].values[0];
}

class Flag {
public:
    Flag(Job& job,
         const Options& options,
         const Memories& memories,
         BareUdp* bare,
         int far,
         bool has_one_clock)
        : job_(job),
          memories_(memories),
          far_(far),
          has_one_clock_(has_one_clock),
          slices_(options.slices) {
        slice_ns_ = options.is_quick ? 2e6 : 10e6;
        tries_ = options.is_quick ? 1 : tries_max;
        if (slices_ == 0) slices_ = options.is_quick ? 2 : 20;
        if (bare != nullptr) rounds_.emplace(job, *bare, far, options);
    }

    std::vector<Row> run() {
        Progress progress("flag", 2 * static_cast<int>(std::size(ways)));
        std::vector<Row> rows;
        for (const bool is_registered : {false, true}) {
            for (const Way way : ways) {
                rows.push_back(
                    measure_credibly([&] { return measure_one(way, is_registered); }, tries_));
                progress.step(rows.back().name);
            }
        }
        return rows;
    }

private:
    Row measure_one(Way way, bool is_registered) {
        const Regions& memory = is_registered ? memories_.registered : memories_.starter;
        play(way, is_registered, 4, 1);
        const double guess_ns = median_of(play(way, is_registered, 16, 1));
        const auto batch = static_cast<std::uint64_t>(std::max(1.0, batch_ns / guess_ns));
        const auto batches = static_cast<std::uint64_t>(
            std::clamp(slice_ns_ / (2 * guess_ns * static_cast<double>(batch)), 4.0, 1e4));
        std::vector<Slice> done;
        std::vector<double> completed;
        for (int i = 0; i < slices_; ++i) {
            Slice slice;
            slice.test_operations = 2 * batch;
            if (!rounds_) slice.round_trip_ns = job_.round_trip_ns(50e3);
            slice.test_ns = play(way, is_registered, batches, batch);
            completed.push_back(completed_ns(memory, way, batches * batch));
            if (rounds_) slice.yardstick_ns = rounds_->bare_round_trips();
            done.push_back(std::move(slice));
        }
        Row row = row_of(way, memory, compare(done, far_boundary_ns(job_.round_trips())),
                         median_of(std::move(completed)));
        if (has_one_clock_) {
            row.extra.emplace_back("one_way_us",
                                   one_way_ns(way, is_registered, Receiver::spins) / 1e3);
            row.extra.emplace_back("one_way_wait_word_us",
                                   one_way_ns(way, is_registered, Receiver::waits_for_word) / 1e3);
        }
        return row;
    }

    // From the call of acp_copy to the clock that the receiver reads when it has seen the flag; the
    // median.
    double one_way_ns(Way way, bool is_registered, Receiver receiver) {
        const Regions& memory = is_registered ? memories_.registered : memories_.starter;
        Player player(job_, memory, far_, way);
        std::uint64_t value = std::max(player.seen(), sent_one_way_);
        Order order{order_receive, 0, {}};
        order.arguments[0] = static_cast<std::uint64_t>(far_);
        order.arguments[1] = is_registered ? 1 : 0;
        order.arguments[2] = static_cast<std::uint64_t>(way);
        order.arguments[3] = static_cast<std::uint64_t>(receiver);
        order.arguments[4] = value;
        job_.give(order);
        std::array<std::uint64_t, noted_flags> sent_ns{};
        for (std::uint64_t& at_ns : sent_ns) {
            const std::uint64_t due_ns = os::now_ns() + pause_ns;
            while (os::now_ns() < due_ns) os::relax();
            at_ns = os::now_ns();
            player.send(++value);
            player.complete();
        }
        sent_one_way_ = value;
        job_.join();
        std::array<std::uint64_t, noted_flags> seen_ns{};
        acp_complete(
            acp_get(seen_ns.data(), memory.source_ga(far_), sizeof seen_ns, ACP_HANDLE_NULL));
        std::vector<double> each_ns;
        for (std::size_t i = 0; i < noted_flags; ++i)
            each_ns.push_back(static_cast<double>(seen_ns[i]) - static_cast<double>(sent_ns[i]));
        return median_of(std::move(each_ns));
    }

    // Half round trips in ns, the mean of each batch.
    std::vector<double> play(Way way,
                             bool is_registered,
                             std::uint64_t batches,
                             std::uint64_t batch) {
        const Regions& memory = is_registered ? memories_.registered : memories_.starter;
        Order order{order_answer, 0, {}};
        order.arguments[0] = static_cast<std::uint64_t>(far_);
        order.arguments[1] = is_registered ? 1 : 0;
        order.arguments[2] = static_cast<std::uint64_t>(way);
        order.arguments[3] = batches * batch;
        Player player(job_, memory, far_, way);
        std::uint64_t value = player.seen();
        // the far rank may look at its flag only after the first one came
        order.arguments[4] = value;
        job_.give(order);
        std::vector<double> each_ns;
        for (std::uint64_t i = 0; i < batches; ++i) {
            const std::uint64_t start = os::now_ns();
            for (std::uint64_t j = 0; j < batch; ++j) {
                player.send(++value);
                player.receive(value);
                player.complete();
            }
            const auto spent = static_cast<double>(os::now_ns() - start);
            each_ns.push_back(spent / static_cast<double>(2 * batch));
        }
        job_.join();
        return each_ns;
    }

    // Times the same commands while the other rank sleeps; acp_complete waits for each. Each puts
    // the number that the target holds already.
    double completed_ns(const Regions& memory, Way way, std::uint64_t count) const {
        Player player(job_, memory, far_, way);
        const std::uint64_t value = player.seen();
        const std::uint64_t start = os::now_ns();
        for (std::uint64_t i = 0; i < count; ++i) {
            player.send(value);
            player.complete();
        }
        return static_cast<double>(os::now_ns() - start) / static_cast<double>(count);
    }

    Row row_of(Way way, const Regions& memory, const Comparison& comparison, double completed_ns) {
        Row row;
        row.experiment = "flag";
        row.name = std::string(name_of(way)) + ", " + memory.name();
        row.mode = mode_by_environment();
        const auto parsed = base::parse_config(os::environment());
        if (rounds_ && parsed.is_ok() && parsed.value().config.gateway == base::GatewayPlace::agent)
            row.mode += ", ACP_GATEWAY=agent";
        row.ranks = job_.ranks();
        row.nodes = job_.nodes();
        row.bytes = way == Way::flag_alone ? flag_bytes : data_bytes;
        fill(row, comparison);
        row.bandwidth_mb_per_s = 0;
        const double trip_ns =
            rounds_ ? comparison.yardstick_ns.median : comparison.round_trip_ns.median;
        if (trip_ns > 0) {
            row.yardstick =
                Yardstick{rounds_ ? "half a bare UDP round trip" : "half a cache-line round trip",
                          trip_ns / 2e3, "us"};
            row.ratio = comparison.test_ns.median / (trip_ns / 2);
        }
        row.extra.emplace_back("acp_complete_us", completed_ns / 1e3);
        return row;
    }

    Job& job_;
    const Memories& memories_;
    int far_;
    bool has_one_clock_;
    std::uint64_t sent_one_way_ = 0;  // the number of the last flag that was not answered
    int slices_;
    int tries_ = 1;
    double slice_ns_ = 0;
    std::optional<NetRounds> rounds_;  // between nodes
};

}  // namespace

int run_flag(const Call& call) {
    Job job(call.argc, call.argv, 2, std::string(call.usage));
    const Memories memories{{job, Regions::Kind::starter, region_bytes},
                            {job, Regions::Kind::registered, region_bytes}};
    const bool has_one_clock = is_one_machine(job, job.partner());
    std::optional<BareUdp> bare;
    if (!job.is_one_node()) bare.emplace(job);
    if (!job.conducts()) {
        job.follow([&](const Order& order) {
            if (bare && NetRounds::answer_bare(job, *bare, order)) return;
            if (order.what == order_answer) answer(job, memories, order);
            if (order.what == order_receive) receive(job, memories, order);
        });
        return 0;
    }
    if (memories.starter.bytes() < region_bytes)
        give_up("the starter memory is too small; type:\n  " + std::string(call.usage));
    const int far = job.partner();
    if (bare) bare->connect(far);
    return finish(
        call.options,
        Flag(job, call.options, memories, bare ? &*bare : nullptr, far, has_one_clock).run());
}

}  // namespace acp::bench
