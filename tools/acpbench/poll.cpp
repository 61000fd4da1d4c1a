// SPDX-License-Identifier: BSD-3-Clause
// Experiment `poll`: what one look at all incoming commands costs a process, with nothing there and
// with one message of every sender in turn, for the three kinds of mailboxes at 2 .. 64 ranks. It
// runs in a single process on the library's own ports. The yardstick of each number of ranks is the
// same poll at 2 ranks, measured in turn, so that the ratio shows how the cost grows with the
// ranks.
#include <memory>

#include "base/config.hpp"
#include "mailbox/port.hpp"
#include "node/segment.hpp"

#include "claims/library_claims.hpp"
#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"
#include "slices.hpp"

namespace acp::bench {

namespace {

constexpr std::uint32_t polls_per_look = 64;  // far more than ever wait

struct Mailbox {
    const char* name;
    base::MailboxKind kind;
};

constexpr Mailbox mailboxes[] = {{"pairs", base::MailboxKind::pairs},
                                 {"mpsc", base::MailboxKind::mpsc},
                                 {"bitmap", base::MailboxKind::bitmap}};

// The ports of all processes of a node, in this one. Slot 0 polls, the others send.
class Node {
public:
    Node(base::MailboxKind kind, int ranks) {
        base::Config config;
        config.intranode = base::IntraNode::mailbox;
        config.mailbox = kind;
        config.datagram_bytes = 1408;
        config.starter_bytes = 4096;
        auto segment = node::Segment::create(
            node::shape_for(config, static_cast<std::uint32_t>(ranks)), claims::library_claims());
        if (!segment.is_ok()) give_up(std::string(segment.failure().message()));
        segment_ = std::move(segment).value();
        for (int slot = 0; slot < ranks; ++slot) {
            auto port = mailbox::Port::open(segment_, static_cast<std::uint32_t>(slot));
            if (!port.is_ok()) give_up(std::string(port.failure().message()));
            ports_.push_back(std::move(port).value());
        }
    }

    void poll_idle(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) ports_[0]->receive(ignore_, polls_per_look);
    }

    // Each turn: the next sender sends one message, then one poll takes it.
    void send_and_poll(std::uint64_t count) {
        mailbox::MessageHead head;
        head.kind = mailbox::MessageKind::end;
        for (std::uint64_t i = 0; i < count; ++i) {
            sender_ = sender_ + 1 < ports_.size() ? sender_ + 1 : 1;
            if (!ports_[sender_]->send(0, head, {}))
                give_up("a mailbox is full though it was emptied");
            if (ports_[0]->receive(ignore_, polls_per_look) != 1)
                give_up("a message did not arrive at once");
        }
    }

private:
    node::Segment segment_;
    std::vector<std::unique_ptr<mailbox::Port>> ports_;
    std::size_t sender_ = 0;
    mailbox::Port::Handler ignore_ =
        [](std::uint32_t, const mailbox::MessageHead&, std::span<const char>) {};
};

Row measure_poll(const Mailbox& mailbox, int ranks, bool is_loaded, const Options& options) {
    Node tested(mailbox.kind, ranks);
    Node smallest(mailbox.kind, 2);
    const auto work = [is_loaded](Node& node) -> Work {
        return [&node, is_loaded](std::uint64_t count) {
            is_loaded ? node.send_and_poll(count) : node.poll_idle(count);
        };
    };
    Plan plan;
    plan.slices = options.slices > 0 ? options.slices : options.is_quick ? 2 : 10;
    plan.slice_ns = options.is_quick ? 2e6 : 12e6;
    const Comparison comparison = measure_and_compare({work(tested), work(smallest), 0, 0}, plan);
    Row row;
    row.experiment = "poll";
    row.name = is_loaded ? "send and poll" : "idle poll";
    row.mode = mailbox.name;
    row.ranks = ranks;
    fill(row, comparison);
    fill_yardstick(row, comparison, "with 2 ranks");
    row.extra.emplace_back("ns", comparison.test_ns.median);
    return row;
}

}  // namespace

int run_poll(const Call& call) {
    std::vector<int> all = call.options.rank_counts;
    if (all.empty()) {
        all =
            call.options.is_quick ? std::vector<int>{2, 8} : std::vector<int>{2, 4, 8, 16, 32, 64};
    }
    std::vector<Row> rows;
    Progress progress("poll", static_cast<int>(2 * std::size(mailboxes) * all.size()));
    for (const bool is_loaded : {false, true}) {
        for (const Mailbox& mailbox : mailboxes) {
            for (const int ranks : all) {
                if (ranks < 2)
                    give_up("a poll needs 2 ranks or more, not " + std::to_string(ranks));
                rows.push_back(measure_poll(mailbox, ranks, is_loaded, call.options));
                progress.step(rows.back().name + " " + mailbox.name);
            }
        }
    }
    return finish(call.options, rows);
}

}  // namespace acp::bench
