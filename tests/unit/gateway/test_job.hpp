// SPDX-License-Identifier: BSD-3-Clause
// A job of several nodes for tests of gateways: node segments, ranks that are objects of this
// process, and a gateway per node on loopback addresses, over real sockets. One thread polls all of
// them, unless a test starts threads for gateways. Nodes of one rank may run their gateway inside
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "gateway/gateway.hpp"
#include "gateway/own_gateway.hpp"
#include "gateway/stats_publisher.hpp"
#include "local/attach.hpp"
#include "node/death.hpp"
#include "node/node_table.hpp"
#include "os/clock.hpp"
#include "remote/ring_link.hpp"

#include "claims/library_claims.hpp"
#include "engine/addresses.hpp"
#include "support/operation_library.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"
#include "unit/mailbox/test_rank.hpp"
#include "unit/remote/test_call.hpp"

namespace acp::gateway::test {

using base::Code;
using local::test::Kind;
using mailbox::test::Memory;
using mailbox::test::Rank;
using memory::Command;
using memory::Operation;
using remote::Ended;

inline constexpr Kind automatic_kind{"automatic", base::IntraNode::automatic,
                                     base::MailboxKind::mpsc};
inline constexpr std::uint64_t starter_bytes = 4 * 1024 * 1024;

struct JobOptions {
    std::vector<std::uint32_t> counts{1, 1};  // processes per node
    Kind kind = automatic_kind;
    base::Config config;
    bool is_own =
        // Nodes of one process run their gateway themselves; no gateway holds meetings there.
        false;
    std::uint32_t datagram_bytes_max = 0;
    Time connect_timeout_ns = 5'000'000'000;
    const local::OperationTable* operations = &acp::test::operation_table;
    // For each node; empty: the machine's choice.
    std::vector<crypto::CipherWish> ciphers;
};

// Fills the address table as the agent does before it starts the ranks.
inline void fill_table(const node::Segment& segment, const std::vector<std::uint32_t>& counts) {
    node::NodeTable table(segment);
    std::uint32_t first = 0;
    for (std::uint32_t node = 0; node < counts.size(); ++node) {
        const node::NodeAddress address{{127, 0, 1, 1}, 4711, 4};
        ASSERT_TRUE(table.set(node, first, {&address, 1}).is_ok());
        first += counts[node];
    }
}

inline node::Segment make_segment(const JobOptions& options, std::uint32_t node) {
    node::Shape shape;
    shape.nodes = static_cast<std::uint32_t>(options.counts.size());
    shape.node = node;
    shape.procs = 0;
    for (std::uint32_t k = 0; k < shape.nodes; ++k) {
        if (k == node) shape.first_process = shape.procs;
        shape.procs += options.counts[k];
    }
    shape.local_procs = shape.machine_procs = options.counts[node];
    shape.starter_bytes = starter_bytes;
    shape.mailbox_kind = static_cast<std::uint32_t>(options.kind.mailbox);
    shape.intranode = static_cast<std::uint32_t>(options.kind.intranode);
    shape.datagram_bytes = 4096;
    shape.job_id = 0x1234'5678'9abc'def0;
    auto made = node::Segment::create(shape, claims::library_claims());
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    node::Segment segment = std::move(made).value();
    fill_table(segment, options.counts);
    for (std::uint32_t slot = 0; slot < shape.local_procs; ++slot) {
        segment.slot(slot).state.store(static_cast<std::uint32_t>(node::SlotState::joined),
                                       std::memory_order_relaxed);
        segment.slot(slot).pid.store(static_cast<std::uint32_t>(::getpid()),
                                     std::memory_order_relaxed);
    }
    return segment;
}

// One process of the job, its link to the gateway, and its completed commands.
struct Process {
    std::unique_ptr<Rank> rank;
    std::unique_ptr<local::Attach> token;
    std::unique_ptr<remote::Link> ring;
    remote::Link* link = nullptr;
    std::deque<Ended> ended;
    // Results of invocations, by token.
    std::map<std::uint64_t, std::vector<std::byte>> results;
    bool is_stopped = false;
    std::uint32_t node = 0;
};

class Job {
public:
    explicit Job(JobOptions options) : options_(std::move(options)) {
        acp::test::arm_watchdog(300, "a gateway test");
        const auto nodes = static_cast<std::uint32_t>(options_.counts.size());
        for (std::uint32_t node = 0; node < nodes; ++node)
            first_.push_back(add(first_.empty() ? 0 : end_));
        first_.push_back(end_);
        std::vector<std::vector<Address>> peers;
        for (std::uint32_t node = 0; node < nodes; ++node) peers.push_back(start(node));
        for (std::uint32_t node = 0; node < nodes; ++node) {
            const auto status =
                own_[node] ? own_[node]->set_peers(peers) : gateways_[node]->set_peers(peers);
            EXPECT_TRUE(status.is_ok()) << status.message();
        }
    }

    ~Job() {
        stop_threads();
        acp::test::arm_watchdog(0, "");
    }

    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    // Polls every gateway and rank once that is not stopped.
    void poll() {
        for (std::uint32_t node = 0; node < gateways_.size(); ++node) {
            const bool is_here = gateways_[node] && !is_node_stopped_[node] && threads_.empty();
            if (is_here) gateways_[node]->poll(os::now_ns());
        }
        for (Process& process : processes_) {
            if (process.is_stopped || is_node_stopped_[process.node]) continue;
            process.rank->forwarder->poll();
            process.link->poll(news_);
            for (const Ended& one : news_) {
                if (one.result != nullptr) {
                    process.results[one.token] = {one.result, one.result + one.result_bytes};
                }
                for (std::uint32_t i = 0; i < one.count; ++i) {
                    Ended single = one;
                    single.token += 2ULL * i;
                    single.count = 1;
                    process.ended.push_back(single);
                }
            }
            news_.clear();
        }
    }

    // From here on every gateway that does not belong to a rank runs in a thread, as in an agent.
    void start_threads() {
        for (const auto& gateway : gateways_) {
            if (gateway) threads_.emplace_back([this, &gateway] { gateway->run(is_stopping_); });
        }
    }

    void stop_threads() {
        is_stopping_.store(true);
        for (const auto& gateway : gateways_) {
            if (gateway) gateway->wake();
        }
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
        is_stopping_.store(false);
    }

    // Submits a command as soon as the link has room. Returns its token.
    std::uint64_t submit(std::uint32_t initiator, const Command& command) {
        const std::uint64_t token = token_ += 2;
        Process& process = processes_[initiator];
        while (!process.link->submit(token, command)) poll();
        process.link->flush();
        return token;
    }

    // Submits an invocation as soon as the link has room, and does not flush. Returns its token. A
    // process has fewer than remote::invokes_max in flight.
    std::uint64_t invoke(std::uint32_t initiator, const remote::test::TestCall& call) {
        const std::uint64_t token = token_ += 2;
        const auto place = static_cast<std::uint32_t>(token / 2 % remote::invokes_max);
        while (!remote::test::invoke(*processes_[initiator].link, token, call, place)) poll();
        return token;
    }

    // Runs a command to its end. The initiator has nothing else in flight.
    Ended run(std::uint32_t initiator, const Command& command) {
        const std::uint64_t token = submit(initiator, command);
        Process& process = processes_[initiator];
        while (process.ended.empty()) poll();
        const Ended ended = process.ended.front();
        process.ended.pop_front();
        EXPECT_EQ(ended.token, token);
        return ended;
    }

    Code copy(std::uint32_t initiator,
              local::GlobalAddress target,
              local::GlobalAddress source,
              std::uint64_t bytes) {
        return run(initiator, {Operation::copy, 0, target, source, bytes, 0, 0}).code;
    }

    // Polls until the condition holds.
    template <typename Condition>
    void poll_until(Condition&& condition) {
        while (!condition()) poll();
    }

    [[nodiscard]] const Memory& memory(std::uint32_t process, bool is_private) const {
        return processes_[process].rank->memory(is_private);
    }

    Process& process(std::uint32_t index) { return processes_[index]; }

    [[nodiscard]] std::uint32_t procs() const { return end_; }

    [[nodiscard]] std::uint32_t first(std::uint32_t node) const { return first_[node]; }

    Gateway& gateway(std::uint32_t node) { return *gateways_[node]; }

    OwnGateway& own(std::uint32_t node) { return *own_[node]; }

    node::Segment& segment(std::uint32_t node) { return segments_[node]; }

    // The current counters of a node.
    gateway::StatsValues stats(std::uint32_t node) {
        const int fd = own_[node] ? own_[node]->stats_fd() : gateways_[node]->stats_fd();
        const auto mapped = os::Mapping::map_shared(fd, sizeof(gateway::StatsBlock));
        EXPECT_TRUE(mapped.is_ok());
        const auto& block = *reinterpret_cast<const gateway::StatsBlock*>(mapped.value().data());
        const std::uint64_t asked_ns = os::now_ns();
        own_[node] ? own_[node]->publish_stats() : gateways_[node]->publish_stats();
        gateway::StatsValues values;
        poll_until(
            [&] { return gateway::read_stats(block, values) && values.updated_ns >= asked_ns; });
        return values;
    }

    // From now on this node is not polled, as if its machine had vanished.
    void stop_node(std::uint32_t node) { is_node_stopped_[node] = true; }

    // Marks a process dead, as its agent does.
    void kill(std::uint32_t index) {
        Process& process = processes_[index];
        process.is_stopped = true;
        const std::uint32_t slot = index - first_[process.node];
        node::mark_dead(segments_[process.node], slot, 9);
        for (std::uint32_t other = first_[process.node]; other < first_[process.node + 1];
             ++other) {
            if (other != index) processes_[other].rank->forwarder->on_death(slot);
        }
        if (gateways_[process.node]) gateways_[process.node]->on_local_death(slot, 9);
    }

    void fill(char* bytes, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(random_.next());
    }

    acp::test::Random& random() { return random_; }

private:
    // Makes a node with its ranks. Returns its first process.
    std::uint32_t add(std::uint32_t first) {
        const auto node = static_cast<std::uint32_t>(segments_.size());
        segments_.push_back(make_segment(options_, node));
        const node::Segment& segment = segments_.back();
        const bool is_forced = options_.kind.intranode != base::IntraNode::automatic;
        for (std::uint32_t slot = 0; slot < options_.counts[node]; ++slot) {
            Process& process = processes_.emplace_back();
            process.node = node;
            process.rank = std::make_unique<Rank>(segment, slot, is_forced, false);
            process.token = std::make_unique<local::Attach>(segment, slot, true);
            process.token->publish_token();
        }
        end_ = first + options_.counts[node];
        is_node_stopped_.push_back(false);
        return first;
    }

    GatewaySettings settings_of(std::uint32_t node) {
        GatewaySettings settings;
        settings.job_id = segments_[node].shape().job_id;
        settings.node = node;
        settings.nodes = static_cast<std::uint32_t>(options_.counts.size());
        settings.first_process = first_;
        for (std::size_t i = 0; i < settings.job_key.size(); ++i) {
            settings.job_key[i] = static_cast<std::byte>(i * 7 + 1);
        }
        for (std::uint32_t rail = 0; rail < options_.config.rails; ++rail) {
            settings.bind.push_back(engine::emulated_address(node));
            settings.bind.back().ip[1] = static_cast<std::uint8_t>(rail);
        }
        settings.config = options_.config;
        settings.config.intranode = options_.kind.intranode;
        settings.datagram_bytes_max = options_.datagram_bytes_max;
        settings.connect_timeout_ns = options_.connect_timeout_ns;
        settings.operations = options_.operations;
        if (node < options_.ciphers.size()) settings.cipher = options_.ciphers[node];
        return settings;
    }

    std::vector<Address> start(std::uint32_t node) {
        const node::Segment& segment = segments_[node];
        own_.emplace_back();
        gateways_.emplace_back();
        const std::uint32_t first = first_[node];
        if (options_.is_own && options_.counts[node] == 1) {
            Rank& rank = *processes_[first].rank;
            auto made = OwnGateway::open(segment, rank.space, rank.hazards, settings_of(node));
            EXPECT_TRUE(made.is_ok()) << made.failure().message();
            own_.back() = std::move(made).value();
            processes_[first].link = own_.back().get();
        } else {
            auto made = Gateway::open(segment, settings_of(node));
            EXPECT_TRUE(made.is_ok()) << made.failure().message();
            gateways_.back() = std::move(made).value();
            for (std::uint32_t slot = 0; slot < options_.counts[node]; ++slot) {
                Process& process = processes_[first + slot];
                process.ring = std::make_unique<remote::RingLink>(segment, slot);
                process.link = process.ring.get();
            }
        }
        if (gateways_.back()) {
            EXPECT_TRUE(segments_[node].open_gateway_event().is_ok());
        }
        const auto all = own_.back() ? own_.back()->addresses() : gateways_.back()->addresses();
        return {all.begin(), all.end()};
    }

    JobOptions options_;
    std::deque<node::Segment> segments_;
    std::deque<Process> processes_;
    // For each node either this or gateways_.
    std::vector<std::unique_ptr<OwnGateway>> own_;
    std::vector<std::unique_ptr<Gateway>> gateways_;
    std::vector<bool> is_node_stopped_;
    std::vector<std::thread> threads_;
    std::atomic<bool> is_stopping_{false};
    std::vector<std::uint32_t> first_;
    std::uint32_t end_ = 0;
    std::uint64_t token_ = 100;
    std::vector<Ended> news_;
    acp::test::Random random_{42};
};

}  // namespace acp::gateway::test
