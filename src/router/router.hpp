// SPDX-License-Identifier: BSD-3-Clause
// The router turns commands into frames, and frames into accesses to memory. At the initiator's
// node it sends puts, and requests for gets, atomics and invokes; at the source's node it reads and
// sends; at the target's node it places, counts, and reports the completion to the initiator when
// all bytes are in place, never before. An atomic runs once. No command is dropped silently: each
// one completes, with success or an error code. Commands of one rank do not delay those of another.
//
// A pure state machine: no socket, clock or thread; bounded memory, and only the constructor
// throws. One thread calls it. Completions are called from within any call, submit() included, and
// must not call the router. From within a call of Placement on_settled() may be called for tickets
// accepted before, and no other function. Calls without a `now` use the time of the last call that
// had one, also to judge what is overdue: call set_now() before several of them. ENDs and pieces
// are collected and sent by the next poll(), so call it after a batch of datagrams or submits.
// Protocol: docs/spec/frames.md, docs/spec/ordering.md.
// Tests: tests/unit/router/*_test.cpp.
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
    // The endpoints, one per rail, which are made after the router because the router is their
    // handler. Before any other call.
    void bind(std::span<datagram::Endpoint* const> rails) noexcept;

    void bind(datagram::Endpoint& only) noexcept {
        datagram::Endpoint* const rails[] = {&only};
        bind(rails);
    }

    // Accepts a command, which is copied. Returns false if there is no room now: nothing was done,
    // try again after a poll.
    //   request  its token is even, and no command or invoke of this initiator that has not ended
    //            has it
    bool submit(Time now, const Request& request);

    // submit() of several commands of one process, in order, as many as there is room for. Returns
    // how many; nothing was done for the others.
    //   initiator  a process of this node
    //   commands   their numbers are their tokens
    std::size_t submit_all(Time now,
                           std::uint32_t initiator,
                           std::span<const memory::NumberedCommand> commands);

    // Runs a numbered operation on the node of a process. On success on_result() is called before
    // on_completion(). Returns false if there is no room now.
    //   arguments  at most invoke_bytes_max bytes; the router reads them until the completion
    bool invoke(Time now, const InvokeRequest& call, std::span<const std::byte> arguments);

    // Whether another node has joined the next meeting, and this one has not.
    [[nodiscard]] bool are_others_waiting() const noexcept;

    // This node joins meeting `number` (consecutive, from 0). Call when all its processes have
    // arrived and on_met() has reported the meeting before. After on_node_dead() no meeting
    // completes.
    //   values  one per process of this node, which on_met() returns in one table on all nodes;
    //           empty: no table, on all nodes
    void start_barrier(std::uint32_t number, std::span<const std::uint32_t> values);

    // start_barrier() of a meeting whose on_met() returns the minimum of each word, on all nodes.
    void start_min_reduction(std::uint32_t number, const Meeting::Words& words);

    // The node whose message this node waits for in a meeting; none unless a meeting is in
    // progress.
    [[nodiscard]] std::optional<NodeId> missing_node() const noexcept;

    // Whether the next poll() severs a node that another node reported as lost.
    [[nodiscard]] bool has_to_sever() const noexcept;

    // Makes the endpoint watch a node for at least `at_least_ns`, and sever it if its gateway is
    // silent.
    void watch(NodeId node, Time at_least_ns);

    // Notes that a process has died, left, or cannot be reached: fails the commands that it
    // initiated, and reports the death to all nodes. The process may be on another node if the
    // router's owner learnt of its death first.
    //   end  how it ended; passed unchanged to Completions::on_process_dead() on the other nodes
    void note_death(std::uint32_t process, const base::ProcessEnd& end);

    // Placement calls this when an access has settled, once for each ticket for which it returned
    // SettlementState::accepted.
    //   value  the old value of an atomic
    void on_settled(Ticket ticket, base::Code code, std::uint64_t value);

    // Placement calls this when it may have room again for this process: the next poll() retries
    // the parked work.
    void on_place_room(std::uint32_t process);

    // Sets the time for calls that have none, until a call that has one.
    void set_now(Time now) noexcept;

    // Sends the waiting frames for which there is room; retries the accesses that placement
    // refused; scans for overdue commands. Returns whether progress was made: a frame was written,
    // an access settled, a command completed.
    bool poll(Time now);
    // When to call poll(): a time in the past if work is due now; datagram::never: no work is due.
    [[nodiscard]] Time deadline() const noexcept;

    [[nodiscard]] const RouterCounters& counters() const noexcept;
    [[nodiscard]] std::uint32_t outstanding() const noexcept;  // commands of this node's processes
    [[nodiscard]] std::uint32_t outstanding_of(std::uint32_t initiator) const noexcept;
    // Whether no command of this node, no work for other nodes and no meeting is in progress.
    [[nodiscard]] bool is_idle() const noexcept;

    // See datagram::EndpointHandler. Frames are handled alike on all rails.
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
