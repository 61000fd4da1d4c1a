// SPDX-License-Identifier: BSD-3-Clause
// The router turns commands into frames, and frames into accesses to memory. At the initiator's node it sends puts, and asks other nodes to act; at the
// source's node it reads and sends; at the target's node it places, counts, and tells the initiator when all bytes are in
// place, never before. An atomic runs once. Nothing is dropped silently: a command that cannot end well ends with an error
// code. Commands of one rank do not delay those of another.
//
// A pure state machine: no socket, clock or thread; bounded memory, and only the constructor throws. One thread calls it.
// Completions are called from within any call, submit() included, and must not call the router. From within a call of Placement
// on_settled() may be called for tickets accepted before, and nothing else. Calls without a `now` take the time of the last
// one that had it: call set_now() before several of them, for what is overdue is judged by that time. ENDs and pieces are
// collected and sent by the next poll(), so call it after a batch of datagrams or submits.
// Protocol: docs/spec/frames.md, docs/spec/ordering.md. Tests: tests/unit/router/*_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "memory/ga_layout.hpp"
#include "router/counters.hpp"
#include "router/meeting.hpp"
#include "router/placement.hpp"
#include "router/surroundings.hpp"

namespace acp::router {

class Router final : public datagram::EndpointHandler {
public:
    // All arguments but `settings` must outlive the router. Throws std::bad_alloc.
    Router(const RouterSettings& settings,
           const memory::GaLayout& layout,
           const Map& map,
           Placement& placement,
           Completions& completions);
    ~Router() override;
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;
    // The endpoints, one per rail, which are made after the router because the router is their handler. Before any other call.
    void bind(std::span<datagram::Endpoint* const> rails) noexcept;

    void bind(datagram::Endpoint& only) noexcept {
        datagram::Endpoint* const rails[] = {&only};
        bind(rails);
    }

    // Accepts a command, which is copied. Returns false if there is no room now: nothing was done, try again after a poll.
    //   request  its token is even, and no command or invoke of this initiator that has not ended has it
    bool submit(Time now, const Request& request);

    // submit() of several commands of one process, in order, as many as there is room for. Returns how many; nothing was done for
    // the others.
    //   initiator  a process of this node
    //   commands   their numbers are their tokens
    std::size_t submit_all(Time now,
                           std::uint32_t initiator,
                           std::span<const memory::NumberedCommand> commands);

    // Runs a numbered operation on the node of a process. If it goes well, on_result() comes before the completion. Returns
    // false if there is no room now.
    //   arguments  at most invoke_bytes_max bytes; copied
    bool invoke(Time now, const InvokeRequest& call, std::span<const std::byte> arguments);

    // Whether another node has come to the next meeting, and this one has not.
    [[nodiscard]] bool are_others_waiting() const noexcept;

    // All processes of this node have come to meeting `number` (consecutive, from 0; on_met() told the end of the one before). The
    // meeting never ends if a node is lost, which on_node_dead() has told.
    //   values  one per process of this node, which on_met() gives to all nodes in one table; empty: no table, on all nodes
    void start_barrier(std::uint32_t number, std::span<const std::uint32_t> values);

    // The same, on all nodes, to learn the minimum of each of some words.
    void start_min_reduction(std::uint32_t number, const Meeting::Words& words);

    // From which node this one waits to hear now; nothing unless a meeting is in progress.
    [[nodiscard]] std::optional<NodeId> missing_node() const noexcept;

    // Whether poll() is going to sever a node of whose loss others have told.
    [[nodiscard]] bool has_to_sever() const noexcept;

    // For at least so many nanoseconds has the endpoint watch a node, and sever it if its gateway is silent.
    void watch(NodeId node, Time at_least_ns);

    // No command can end well any more that needs this process: it has died, left, or cannot be reached. All nodes
    // are told. The process is one of this node, or one of which somebody else has told this node.
    //   wait_status  says why; Completions::on_process_dead() of the other nodes gets it as it is
    void note_death(std::uint32_t process, std::uint32_t wait_status);

    // An access has settled. Once for each ticket with which Placement returned SettlementState::accepted.
    //   value  the old value of an atomic
    void on_settled(Ticket ticket, base::Code code, std::uint64_t value);

    // Placement may have room again for this process, earlier than the router would try.
    void on_place_room(std::uint32_t process);

    // Sets the time for calls that have none, until a call that has one.
    void set_now(Time now) noexcept;

    // Sends what waits, as far as there is room; tries again what placement refused; handles what is overdue. Returns whether
    // anything went on: a frame was written, an access settled, a command ended.
    bool poll(Time now);
    // When to call poll(): a time already past if it has something to do; never: nothing is due.
    [[nodiscard]] Time deadline() const noexcept;

    [[nodiscard]] const RouterCounters& counters() const noexcept;
    [[nodiscard]] std::uint32_t outstanding() const noexcept;  // commands of this node's processes
    [[nodiscard]] std::uint32_t outstanding_of(std::uint32_t initiator) const noexcept;
    // Whether nothing is in progress here: no command of this node, no work for another, no meeting.
    [[nodiscard]] bool is_idle() const noexcept;

    // As datagram::EndpointHandler says. It makes no difference by which rail frames come.
    void on_frames(NodeId from, datagram::Bytes frames) override;

    void on_room(NodeId node) override { on_room(node, 0); }

    void on_room(NodeId node, std::uint32_t rail);
    void on_severed(NodeId node, datagram::SeverReason reason) override;

private:
    struct Parts;
    Placement& placement_;
    std::unique_ptr<Parts> parts_;
};

}  // namespace acp::router
