// SPDX-License-Identifier: BSD-3-Clause
// The router turns commands into frames and back. At the initiator's node it sends puts, and asks other nodes to act; at the
// source's node it reads and sends; at the target's node it places, counts, and tells the initiator when all bytes are in
// place, never before. An atomic runs once. Nothing is dropped silently: a command that cannot end well ends with an error
// code. Commands of one rank do not delay those of another.
//
// A pure state machine: no socket, clock or thread; bounded memory. One thread calls it. Completions are called from within any
// call, submit() included, and must not call the router. ENDs and pieces are collected and sent by the next turn(), so call it
// after a batch of datagrams or submits.
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
    // All arguments but `settings` must outlive the router. bind() must be called before anything else. Throws std::bad_alloc.
    Router(const RouterSettings& settings,
           const memory::GaLayout& layout,
           const Map& map,
           Placement& placement,
           Completions& completions);
    ~Router() override;
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;
    void bind(datagram::Endpoint& endpoint) noexcept;

    // Accepts a command. Returns false if there is no room now: nothing was done, try again after a turn.
    bool submit(Time now, const Request& request);

    // Accepts several commands of one process, in order, as many as there is room for. Returns how many; nothing was done for
    // the others.
    //   initiator  a process of this node
    std::size_t submit_all(Time now,
                           std::uint32_t initiator,
                           std::span<const memory::NumberedCommand> run);

    // Runs a numbered operation on the node of a process. If it goes well, on_result() comes before the completion. Returns
    // false if there is no room now.
    //   arguments  at most invoke_bytes_max bytes; copied
    bool invoke(Time now,
                std::uint32_t initiator,
                std::uint64_t token,
                std::uint32_t operation,
                std::uint32_t process,
                std::span<const std::byte> arguments);

    // Whether another node has come to the next meeting, and this one has not.
    [[nodiscard]] bool is_awaited() const noexcept;

    // All processes of this node have come to meeting `number` (consecutive, from 0). The meeting never ends if a node is lost,
    // which on_node_dead() has told.
    //   wanted  one value per process of this node, or empty; the same choice on all nodes
    void meet(std::uint32_t number, std::span<const std::uint32_t> wanted);

    // The same, to learn the minimum of each of some words; the same choice on all nodes.
    void meet_for_least(std::uint32_t number, const Meeting::Words& words);

    // From which node this one waits to hear now; nothing unless a meeting is in progress.
    [[nodiscard]] std::optional<NodeId> awaited() const noexcept;

    // Watches a node for at least this time: it is severed if its gateway is silent meanwhile.
    void watch(NodeId node, Time at_least);

    // A process of this node has died. The news is passed on to all nodes.
    void on_local_death(std::uint32_t process, std::uint32_t wait_status);

    // An access that Placement accepted has settled.
    //   value  the old value of an atomic
    void on_settled(Ticket ticket, base::Code code, std::uint64_t value);

    // Placement may have room again for this process, earlier than the router would try.
    void on_place_room(std::uint32_t process);

    // Sets the time of what is reported from now on (frames, ENDs, deaths, meetings), until a call that has a time of its own.
    void set_now(Time now) noexcept;

    // Sends what waits, as far as there is room; tries again what placement refused; handles what is overdue. Returns whether
    // anything moved.
    bool turn(Time now);
    // When to call turn(): a time already past if it has something to do; never: nothing is due.
    [[nodiscard]] Time deadline() const noexcept;

    [[nodiscard]] const RouterCounters& counters() const noexcept;
    [[nodiscard]] std::uint32_t outstanding() const noexcept;  // commands of this node's processes
    [[nodiscard]] std::uint32_t outstanding_of(std::uint32_t initiator) const noexcept;
    // Whether no work for any node is in progress here.
    [[nodiscard]] bool is_idle() const noexcept;

    void on_frames(NodeId from, datagram::Bytes frames) override;
    void on_room(NodeId node) override;
    void on_severed(NodeId node, datagram::SeverReason reason) override;

private:
    struct Parts;
    Placement& placement_;
    std::unique_ptr<Parts> parts_;
};

}  // namespace acp::router
