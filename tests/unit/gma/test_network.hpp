// SPDX-License-Identifier: BSD-3-Clause
// Two nodes of one job and, instead of gateways and a network, one thread that takes commands from
// the rings of both and runs them on their starter memories. Ranks are objects of the test's
// process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "gma/gma.hpp"
#include "local/direct.hpp"
#include "node/gateway_port.hpp"
#include "node/node_table.hpp"
#include "os/event.hpp"
#include "remote/gateway_rings.hpp"
#include "remote/ring_link.hpp"

#include "claims/library_claims.hpp"
#include "support/operation_library.hpp"

namespace acp::gma::test {

using memory::GlobalAddress;

inline constexpr std::uint64_t starter_bytes = 64 * 1024;
inline constexpr std::uint32_t procs_per_node = 2;
inline constexpr std::uint32_t procs = 2 * procs_per_node;

// Gives both nodes of a job an address.
//   each  the number of ranks of a node
inline void name_nodes(const node::Segment& segment, std::uint32_t each) {
    for (std::uint32_t node = 0; node < 2; ++node) {
        node::NodeAddress address;
        address.family = 4;
        address.ip = {10, 0, 0, static_cast<std::uint8_t>(node)};
        EXPECT_TRUE(node::NodeTable(segment).set(node, node * each, {&address, 1}).is_ok());
    }
}

inline node::Segment make_node_of_two(std::uint32_t node,
                                      base::IntraNode intranode = base::IntraNode::automatic,
                                      base::MailboxKind mailbox = base::MailboxKind::mpsc) {
    node::Shape shape;
    shape.procs = procs;
    shape.nodes = 2;
    shape.node = node;
    shape.first_process = node * procs_per_node;
    shape.local_procs = shape.machine_procs = procs_per_node;
    shape.starter_bytes = starter_bytes;
    shape.datagram_bytes = 4096;
    shape.intranode = static_cast<std::uint32_t>(intranode);
    shape.mailbox_kind = static_cast<std::uint32_t>(mailbox);
    auto made = node::Segment::create(shape, claims::library_claims());
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    name_nodes(made.value(), procs_per_node);
    return std::move(made).value();
}

// Takes and answers the commands in the rings of both nodes. Returns how many there were.
//   answer(node, slot, command)  returns a remote::Ended
template <typename Rings, typename Answer>
std::uint32_t answer_all(Rings& rings, const Answer& answer) {
    std::uint32_t taken = 0;
    for (std::uint32_t node = 0; node < 2; ++node) {
        const auto take_one = [&](std::uint32_t slot, std::uint64_t token, const Command& command) {
            remote::Ended ended = answer(node, slot, command);
            ended.token = token;
            rings[node]->complete(slot, ended);
            return true;
        };
        // One reference, for which std::function allocates nothing: tests refuse memory to all threads.
        const auto take = [&take_one](std::uint32_t slot, std::uint64_t token,
                                      const Command& command) {
            return take_one(slot, token, command);
        };
        taken += rings[node]->take(take, 1000);
        rings[node]->flush();
    }
    return taken;
}

// Runs a copy or an atomic on memory of both nodes.
//   find(address, bytes)  its pointer in this process; nullptr: there is no such memory
template <typename Find>
remote::Ended run_command(const memory::GaLayout& layout,
                          const Command& command,
                          const Find& find) {
    char* const target = find(command.target_or_word(), command.bytes);
    char* const source = find(command.source, command.bytes);
    if (target == nullptr || source == nullptr) {
        const GlobalAddress bad = target == nullptr ? command.target : command.source;
        return {.code = base::Code::address,
                .blamed = target == nullptr ? memory::BlamedAddress::target
                                            : memory::BlamedAddress::source,
                .process = static_cast<std::uint32_t>(layout.process(bad))};
    }
    if (command.is_copy()) {
        local::move_bytes(target, source, command.bytes);
    } else {
        const std::uint64_t old = local::apply(command, source);
        if (command.has_target()) local::store_old(target, old, command.width);
    }
    return {};
}

// Completes an operation, whose result goes into the caller's ring.
inline remote::Ended answer_invoke(remote::GatewayRings& rings,
                                   std::uint32_t slot,
                                   const Command& command,
                                   base::Code code,
                                   std::span<const std::byte> result) {
    if (code != base::Code::ok) {
        return {.code = code,
                .blamed = memory::BlamedAddress::source,
                .process = static_cast<std::uint32_t>(command.target)};
    }
    const auto place = static_cast<std::uint32_t>(command.source);
    rings.put_result(slot, place, result);
    return {.place = place, .result_bytes = static_cast<std::uint32_t>(result.size())};
}

// The gateways of both nodes.
class Network {
public:
    //   operations  outlives this
    Network(base::IntraNode intranode,
            base::MailboxKind mailbox,
            const local::OperationTable& operations = acp::test::operation_table)
        : operations_(operations) {
        for (std::uint32_t node = 0; node < 2; ++node) {
            segments_.push_back(make_node_of_two(node, intranode, mailbox));
            events_.push_back(std::move(os::Event::create()).value());
        }
        for (std::uint32_t node = 0; node < 2; ++node) {
            ports_.emplace_back(segments_[node]);
            ports_[node].open(events_[node].fd());
            EXPECT_TRUE(segments_[node].open_gateway_event().is_ok());
            rings_.push_back(std::make_unique<remote::GatewayRings>(segments_[node]));
        }
        for (std::uint32_t slot = 0; slot < procs_per_node; ++slot) {
            EXPECT_TRUE(far_[slot].open(segments_[1], slot, {}, nullptr).is_ok());
            far_[slot].publish_shared();
        }
        hazards_ = std::make_unique<local::Hazards>(segments_[1], segments_[1].gateway_slot());
    }

    ~Network() { stop(); }

    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    void start() {
        thread_ = std::thread([this] {
            while (!is_stopping_.load(std::memory_order_relaxed)) {
                if (poll() == 0) std::this_thread::yield();
            }
        });
    }

    void stop() {
        is_stopping_.store(true, std::memory_order_relaxed);
        if (thread_.joinable()) thread_.join();
    }

    // Takes and runs the commands in the rings. Called by the test while the thread does not run.
    std::uint32_t poll() {
        return answer_all(
            rings_, [this](std::uint32_t node, std::uint32_t slot, const Command& command) {
                return command.is_invoke() ? invoke(node, slot, command) : run(command);
            });
    }

    [[nodiscard]] const node::Segment& segment(std::uint32_t node) const { return segments_[node]; }

    [[nodiscard]] node::GatewayPort& port(std::uint32_t node) { return ports_[node]; }

    // Where a process's starter memory is in this process.
    [[nodiscard]] char* starter(std::uint32_t process) const {
        return segments_[process / procs_per_node].starter(process % procs_per_node);
    }

private:
    [[nodiscard]] char* place(GlobalAddress address, std::uint64_t bytes) const {
        const std::uint64_t process = layout_.process(address);
        const std::uint64_t offset = address - layout_.segment_start(process, 0, 1);
        return memory::is_within(offset, starter_bytes, bytes)
                   ? starter(static_cast<std::uint32_t>(process)) + offset
                   : nullptr;
    }

    [[nodiscard]] remote::Ended run(const Command& command) const {
        return run_command(layout_, command, [this](GlobalAddress address, std::uint64_t bytes) {
            return place(address, bytes);
        });
    }

    // An operation on memory of the second node.
    remote::Ended invoke(std::uint32_t node, std::uint32_t slot, const Command& command) {
        const auto process = static_cast<std::uint32_t>(command.target);
        const auto* operation = operations_.find(static_cast<std::uint32_t>(command.operand));
        std::array<std::byte, memory::invoke_bytes_max> result;
        local::NumberedOperation::Ran ran{base::Code::unsupported, 0};
        if (operation != nullptr) {
            local::Hazards::Lease lease(*hazards_);
            local::OperationContext context(far_[0], *hazards_, lease.line(), process);
            ran = local::run_operation(*operation, context,
                                       rings_[node]->arguments_of(slot, command), result);
        }
        return answer_invoke(*rings_[node], slot, command, ran.code,
                             std::span(result).first(ran.result_bytes));
    }

    const local::OperationTable& operations_;
    memory::GaLayout layout_{procs};
    std::vector<node::Segment> segments_;
    std::array<local::Space, procs_per_node> far_;  // the second node's spaces
    std::unique_ptr<local::Hazards> hazards_;       // the hazard lines of its gateway
    std::vector<os::Event> events_;
    std::vector<node::GatewayPort> ports_;
    std::vector<std::unique_ptr<remote::GatewayRings>> rings_;
    std::atomic<bool> is_stopping_{false};
    std::thread thread_;
};

// One rank of these nodes.
class RemoteRank {
public:
    RemoteRank(const node::Segment& segment,
               std::uint32_t slot,
               const base::Config& config,
               std::unique_ptr<remote::Link> its_link,
               const local::OperationTable& operations = acp::test::operation_table)
        : member(segment.share(), slot),
          hazards(member.segment(), slot),
          link(std::move(its_link)) {
        EXPECT_TRUE(member.take_slot().is_ok());
        auto opened = Gma::open(member, hazards, fast, config,
                                {.link = link.get(), .operations = &operations});
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        gma = std::move(opened).value();
    }

    [[nodiscard]] GlobalAddress starter(std::uint32_t process, std::uint64_t offset = 0) const {
        return gma->space().starter_address(process) + offset;
    }

    node::Member member;
    local::Hazards hazards;
    FastPath fast;
    std::unique_ptr<remote::Link> link;
    std::unique_ptr<Gma> gma;
};

}  // namespace acp::gma::test
