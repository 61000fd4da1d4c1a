// SPDX-License-Identifier: BSD-3-Clause
// Two nodes of one job whose ranks are objects of the test's process, with heaps and containers. One
// thread plays both gateways and the network: it takes the commands of all ranks from their rings
// and runs them on the memory that they name. A test intercepts an operation between the nodes to
// count it, to let it fail before or after it has run, or to change its answer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "data/allocator.hpp"
#include "data/hashed.hpp"
#include "local/typed_operation.hpp"
#include "node/death.hpp"

#include "operations/library_operations.hpp"
#include "unit/gma/test_network.hpp"

namespace acp::data::test {

// What the other node's gateway returns for an operation.
struct NodeAnswer {
    base::Code code = base::Code::ok;
    std::uint32_t bytes = 0;
    std::array<std::byte, memory::invoke_bytes_max> result{};

    // Changes the output of an operation that has run.
    template <typename Operation, typename Change>
    void change(const Change& change) {
        typename Operation::Output output;
        std::memcpy(&output, result.data(), sizeof output);
        change(output);
        std::memcpy(result.data(), &output, sizeof output);
    }
};

// Takes the place of an operation, which run() runs: the answer is ok and empty before.
using Interception = std::function<void(NodeAnswer& answer, const std::function<void()>& run)>;

// A rank with its layers, in the order in which they are opened.
struct JoinedRank {
    JoinedRank(const node::Segment& segment, std::uint32_t slot, const base::Config& config)
        : rank(segment,
               slot,
               config,
               std::make_unique<remote::RingLink>(segment, slot),
               operations::library_operations()),
          gma(rank.gma.get()),
          allocator(std::make_unique<Allocator>(*gma)),
          hashed(std::make_unique<Hashed>(*gma, *allocator)) {}

    gma::test::RemoteRank rank;
    gma::Gma* gma;
    std::unique_ptr<Allocator> allocator;
    std::unique_ptr<Hashed> hashed;
};

class TwoNodes {
public:
    static constexpr std::uint32_t each = 2;  // ranks 0 and 1 are on node 0
    static constexpr std::uint32_t procs = 2 * each;

    explicit TwoNodes(std::uint64_t heap_bytes = 8 << 20) {
        config_.starter_bytes = gma::test::starter_bytes;
        config_.heap_bytes = heap_bytes;
        for (std::uint32_t node = 0; node < 2; ++node) open_node(node);
        for (std::uint32_t rank = 0; rank < procs; ++rank) {
            ranks_.push_back(
                std::make_unique<JoinedRank>(segments_[rank / each], rank % each, config_));
        }
        thread_ = std::thread([this] {
            while (!is_stopping_.load(std::memory_order_relaxed)) {
                if (serve() == 0) std::this_thread::yield();
            }
        });
    }

    ~TwoNodes() {
        ranks_.clear();
        is_stopping_.store(true, std::memory_order_relaxed);
        thread_.join();
    }

    TwoNodes(const TwoNodes&) = delete;
    TwoNodes& operator=(const TwoNodes&) = delete;

    [[nodiscard]] JoinedRank& operator[](std::uint32_t rank) { return *ranks_[rank]; }

    [[nodiscard]] const node::Segment& segment_of(std::uint32_t rank) const {
        return segments_[rank / each];
    }

    // From now on `instead` takes the place of each such operation between the nodes; nullptr: none
    // does. Called in the network's thread.
    template <typename Operation>
    void intercept(Interception instead) {
        const std::scoped_lock guard(mutex_);
        instead_[local::operation_number<Operation>] = std::move(instead);
    }

    // Counts such operations between the nodes from now on. The counter outlives the nodes.
    template <typename Operation>
    void count(std::atomic<std::uint32_t>& counter) {
        intercept<Operation>([&counter](NodeAnswer&, const std::function<void()>& run) {
            ++counter;
            run();
        });
    }

    // Such operations fail from now on, before they run.
    template <typename Operation>
    void refuse(base::Code code) {
        intercept<Operation>(
            [code](NodeAnswer& answer, const std::function<void()>&) { answer.code = code; });
    }

    // A node learns that the process of a rank was killed by signal 9.
    void tell_death(std::uint32_t rank, std::uint32_t node) {
        if (rank / each == node) {
            node::mark_dead(segments_[node], rank % each, 9);
        } else {
            ports_[node].publish_death(rank, base::ProcessEnd{9});
        }
    }

    // Both nodes do.
    void die(std::uint32_t rank) {
        tell_death(rank, rank / each);
        tell_death(rank, 1 - rank / each);
    }

    // The other node has given this one up.
    void lose_node(std::uint32_t node) {
        is_lost_[node].store(true);
        ports_[1 - node].publish_severed(node, {node::NodeFate::silent});
    }

    // Expects that the heap of a rank has no finding.
    void check_heap(std::uint32_t rank) {
        const base::Status status = ranks_[rank]->allocator->check(rank);
        EXPECT_TRUE(status.is_ok()) << status.message();
    }

    // The bytes in use in the heap of a rank.
    [[nodiscard]] std::uint64_t used(std::uint32_t rank) {
        return ranks_[rank]->allocator->usage(rank).value().block_bytes;
    }

private:
    void open_node(std::uint32_t node) {
        node::Shape shape = node::shape_for(config_, procs);
        shape.nodes = 2;
        shape.node = node;
        shape.first_process = node * each;
        shape.local_procs = each;
        auto made = node::Segment::create(shape, claims::library_claims());
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        const node::Segment& segment = segments_[node] = std::move(made).value();
        gma::test::name_nodes(segment, each);
        events_.push_back(std::move(os::Event::create()).value());
        ports_.emplace_back(segment);
        ports_[node].open(events_[node].fd());
        EXPECT_TRUE(segments_[node].open_gateway_event().is_ok());
        rings_[node] = std::make_unique<remote::GatewayRings>(segment);
        hazards_[node] = std::make_unique<local::Hazards>(segment, segment.gateway_slot());
        EXPECT_TRUE(spaces_[node].open(segment, segment.gateway_slot(), {}, nullptr).is_ok());
    }

    // Takes and runs the commands in the rings; returns how many there were.
    std::uint32_t serve() {
        return gma::test::answer_all(
            rings_, [this](std::uint32_t node, std::uint32_t slot, const memory::Command& command) {
                return command.is_invoke() ? invoke(node, slot, command) : run(command);
            });
    }

    // All memory of both nodes is mapped in this process.
    [[nodiscard]] char* place(memory::GlobalAddress address, std::uint64_t bytes) const {
        const auto process = static_cast<std::uint32_t>(layout_.process(address));
        if (process >= procs) return nullptr;
        local::Place found;
        const local::Space& space = spaces_[process / each];
        if (space.find(address, bytes, found) != base::Code::ok) return nullptr;
        return found.direct != nullptr ? found.direct
                                       : reinterpret_cast<char*>(found.owner_address);
    }

    [[nodiscard]] remote::Ended run(const memory::Command& command) const {
        for (const memory::GlobalAddress end : {command.target_or_word(), command.source}) {
            const auto process = static_cast<std::uint32_t>(layout_.process(end));
            if (process < procs && is_lost_[process / each].load())
                return {.code = base::Code::peer, .process = process};
        }
        return gma::test::run_command(layout_, command,
                                      [this](memory::GlobalAddress address, std::uint64_t bytes) {
                                          return place(address, bytes);
                                      });
    }

    remote::Ended invoke(std::uint32_t from, std::uint32_t slot, const memory::Command& command) {
        const auto process = static_cast<std::uint32_t>(command.target);
        const auto number = static_cast<std::uint32_t>(command.operand);
        const std::uint32_t node = process / each;
        if (is_lost_[node].load()) return {.code = base::Code::peer, .process = process};
        NodeAnswer answer;
        const auto run = [&] {
            const auto* const operation = operations::library_operations().find(number);
            local::Hazards::Lease lease(*hazards_[node]);
            local::OperationContext context(spaces_[node], *hazards_[node], lease.line(), process,
                                            local::OperationContext::gateway_thread);
            const auto ran = local::run_operation(
                *operation, context, rings_[from]->arguments_of(slot, command), answer.result);
            answer.code = ran.code;
            answer.bytes = ran.result_bytes;
        };
        if (const Interception instead = interception_of(number)) {
            instead(answer, run);
        } else {
            run();
        }
        return gma::test::answer_invoke(*rings_[from], slot, command, answer.code,
                                        std::span(answer.result).first(answer.bytes));
    }

    [[nodiscard]] Interception interception_of(std::uint32_t operation) {
        const std::scoped_lock guard(mutex_);
        const auto found = instead_.find(operation);
        return found != instead_.end() ? found->second : nullptr;
    }

    base::Config config_;  // outlives the ranks, which refer to it
    memory::GaLayout layout_{procs};
    std::array<node::Segment, 2> segments_;
    std::vector<os::Event> events_;
    std::vector<node::GatewayPort> ports_;
    std::array<std::unique_ptr<remote::GatewayRings>, 2> rings_;
    std::array<std::unique_ptr<local::Hazards>, 2> hazards_;  // those that the gateways use
    std::array<local::Space, 2> spaces_;
    std::array<std::atomic<bool>, 2> is_lost_{};
    std::mutex mutex_;
    std::map<std::uint32_t, Interception> instead_;  // guarded by the mutex
    std::vector<std::unique_ptr<JoinedRank>> ranks_;
    std::atomic<bool> is_stopping_{false};
    std::thread thread_;
};

}  // namespace acp::data::test
