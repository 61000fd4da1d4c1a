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
#include <span>

#include "base/status.hpp"
#include "datagram/endpoint.hpp"
#include "memory/command.hpp"
#include "memory/ga_layout.hpp"
#include "router/counters.hpp"
#include "router/meeting.hpp"
#include "router/placement.hpp"

namespace acp::router {

using datagram::NodeId;
using datagram::Time;

// Where processes are. Process indexes of a node are consecutive.
class Map {
public:
    Map() = default;
    virtual ~Map() = default;
    Map(const Map&) = delete;
    Map& operator=(const Map&) = delete;
    [[nodiscard]] virtual NodeId node_of(
        std::uint32_t process) const noexcept = 0;  // process < procs
    [[nodiscard]] virtual std::uint32_t first_process(
        NodeId node) const noexcept = 0;  // node <= nodes
};

struct Request {
    std::uint32_t initiator = 0;  // process index, of this node
    std::uint64_t token = 0;  // the initiator's name for it; not used again while it is outstanding
    memory::Command command;
};

enum class End : std::uint8_t { none, target, source };  // which address a failure is about

// `count` commands of one initiator have ended: tokens token, token + 2, ...
struct Completion {
    std::uint32_t initiator = 0;
    std::uint32_t count = 1;
    std::uint64_t token = 0;
    std::uint64_t value = 0;  // of an invoke: bytes of its result
    base::Code code = base::Code::ok;
    End end = End::none;
    std::uint32_t process = 0;  // of a failure: whose memory or death
};

class Completions {
public:
    Completions() = default;
    virtual ~Completions() = default;
    Completions(const Completions&) = delete;
    Completions& operator=(const Completions&) = delete;
    virtual void on_completion(const Completion& completion) = 0;
    virtual void on_result(std::uint32_t initiator,
                           std::uint64_t token,
                           std::span<const std::byte> result) = 0;
    // News of others or found out here, each once; not of this node's own processes.
    virtual void on_process_dead(std::uint32_t process, std::uint32_t wait_status) = 0;
    virtual void on_node_dead(NodeId node) = 0;
    // meeting `number` is over on all nodes; the table or the least words it gathered, or empty
    virtual void on_met(std::uint32_t number, std::span<const std::uint32_t> table) = 0;
};

struct RouterSettings {
    NodeId node = 0;
    NodeId nodes = 1;
    std::uint32_t procs = 1;
    std::uint32_t commands_max = 1U << 16;                // outstanding of this node's initiators
    std::uint32_t executions_max = 1U << 14;              // commands of others under way here
    std::uint64_t undelivered_bytes_max = 256ULL * 1024;  // per target process; beyond it REFUSED
    std::uint32_t invokes_max =
        1024;  // outstanding of this node's initiators; of others waiting here
    std::uint32_t notes_max =
        1U << 18;  // ends and the like waiting for room; beyond it their node is severed
    // A node of which the endpoint has no memory to keep anything is severed after so long; 0: never.
    datagram::Time no_memory_max_ns = 0;
    std::uint32_t staging_buffers = 128;  // pieces being read that placement could not read at once
};

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

    // A process of this node is gone. Passed on to all nodes.
    void on_local_death(std::uint32_t process, std::uint32_t wait_status);

    // What Placement took is done.   value  the old one of an atomic
    void on_settled(Ticket ticket, base::Code code, std::uint64_t value);

    // Placement may have room again for what it refused for this process; earlier than the router would try.
    void on_place_room(std::uint32_t process);

    // Sends what waits and has room; asks placement again what was refused; sees to what is overdue. true when
    // something moved.
    bool turn(Time now);
    [[nodiscard]] Time deadline()
        const noexcept;  // past: a turn would do something; never: nothing to wait for

    [[nodiscard]] const Counters& counters() const noexcept;
    [[nodiscard]] std::uint32_t outstanding() const noexcept;  // of this node's initiators
    [[nodiscard]] std::uint32_t outstanding_of(std::uint32_t initiator) const noexcept;
    [[nodiscard]] bool is_idle() const noexcept;  // nothing of anybody's is under way here

    void on_frames(NodeId from, datagram::Bytes frames) override;
    void on_room(NodeId node) override;
    void on_severed(NodeId node, datagram::SeverReason reason) override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace acp::router
