// SPDX-License-Identifier: BSD-3-Clause
// Turns commands into frames and back: on the initiator's node it sends puts and asks other nodes to act; on the
// node that holds the source it reads and sends; on the target's node it places, counts, and tells the initiator
// when all is in place, never before. An atomic runs once. Nothing is dropped in silence: what cannot end well
// ends with a code. Commands of one rank delay no other rank's. Pure: no socket, clock, thread; bounded memory.
// One thread. Completions are called from inside any call, submit() included, and must not call the router.
// Ends and pieces are collected and leave with the next turn(): call it after a batch of datagrams or submits.
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
    //   all but settings must outlive the router; bind() is called before anything else
    Router(const RouterSettings& settings,
           const memory::GaLayout& layout,
           const Map& map,
           Placement& placement,
           Completions& completions);
    ~Router() override;
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;
    void bind(datagram::Endpoint& endpoint) noexcept;

    // Takes a command. false: no room now, try after a turn; nothing was done then.
    bool submit(Time now, const Request& request);

    // Takes several of one process, first to last, as many as there is room for. How many: the rest is as if it had
    // not been handed over.   initiator  a process of this node
    std::size_t submit_all(Time now,
                           std::uint32_t initiator,
                           std::span<const memory::NumberedCommand> run);

    // Runs a numbered operation on the node of a process. on_result comes before the completion, if it went well.
    //   arguments.size() <= invoke_bytes_max; copied
    bool invoke(Time now,
                std::uint32_t initiator,
                std::uint64_t token,
                std::uint32_t operation,
                std::uint32_t process,
                std::span<const std::byte> arguments);

    // Whether another node has come to the next meeting, to which this one has not.
    [[nodiscard]] bool is_awaited() const noexcept;

    // All processes of this node have come to meeting `number` (consecutive, from 0).
    // Nothing comes of it when a node is gone: on_node_dead has told.
    //   wanted  a value per process of this node, or empty; all nodes alike
    void meet(std::uint32_t number, std::span<const std::uint32_t> wanted);

    // The same, to learn the least of each of some words; all nodes alike.
    void meet_for_least(std::uint32_t number, const Meeting::Words& words);

    // Whom this node waits to hear from now, while it meets the others.
    [[nodiscard]] std::optional<NodeId> awaited() const noexcept;

    // Watches a node for at least so long: it is severed if its gateway is silent meanwhile.
    void watch(NodeId node, Time at_least);

    // A process of this node is gone. Passed on to all nodes.
    void on_local_death(std::uint32_t process, std::uint32_t wait_status);

    // What Placement took is done.   value  the old one of an atomic
    void on_settled(Ticket ticket, base::Code code, std::uint64_t value);

    // Placement may have room again for what it refused for this process; earlier than the router would try.
    void on_place_room(std::uint32_t process);

    // The time of what is told from now on, until a call that has a time of its own: frames, ends, deaths, meetings.
    void set_now(Time now) noexcept;

    // Sends what waits and has room; asks placement again what was refused; sees to what is overdue. true when
    // something moved.
    bool turn(Time now);
    [[nodiscard]] Time deadline()
        const noexcept;  // past: a turn would do something; never: nothing to wait for

    [[nodiscard]] const RouterCounters& counters() const noexcept;
    [[nodiscard]] std::uint32_t outstanding() const noexcept;  // of this node's initiators
    [[nodiscard]] std::uint32_t outstanding_of(std::uint32_t initiator) const noexcept;
    [[nodiscard]] bool is_idle() const noexcept;  // nothing of anybody's is under way here

    void on_frames(NodeId from, datagram::Bytes frames) override;
    void on_room(NodeId node) override;
    void on_severed(NodeId node, datagram::SeverReason reason) override;

private:
    struct Parts;
    Placement& placement_;
    std::unique_ptr<Parts> parts_;
};

}  // namespace acp::router
