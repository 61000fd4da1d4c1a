// SPDX-License-Identifier: BSD-3-Clause
// The settings of a router, and the interfaces that its owner implements: Map, the node of each
// process, and Completions, the observer of completed commands, losses and meetings. Every part of
// the router knows this file, and none of them knows Router. One thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/process_end.hpp"
#include "base/status.hpp"
#include "datagram/endpoint.hpp"
#include "memory/command.hpp"
#include "memory/ga_layout.hpp"
#include "router/placement.hpp"

namespace acp::router {

using datagram::NodeId;
using datagram::Time;

// Each rail has its own colour.
inline constexpr std::uint32_t rails_max = memory::colors_max;

// The node of each process. The process indexes of a node are consecutive.
class Map {
public:
    Map() = default;
    virtual ~Map() = default;
    Map(const Map&) = delete;
    Map& operator=(const Map&) = delete;
    // process < procs
    [[nodiscard]] virtual NodeId node_of(std::uint32_t process) const noexcept = 0;
    // node <= nodes
    [[nodiscard]] virtual std::uint32_t first_process(NodeId node) const noexcept = 0;
};

struct Request {
    std::uint32_t initiator = 0;  // process index; a process of this node
    // The initiator's name for the command, even; not used again while the command is outstanding.
    std::uint64_t token = 0;
    memory::Command command;
};

// `count` commands of one initiator have ended, with the tokens token, token + 2, ...
struct CommandEnd {
    std::uint32_t initiator = 0;
    std::uint32_t count = 1;
    std::uint64_t token = 0;
    std::uint64_t value = 0;  // invoke: length of its result
    base::Code code = base::Code::ok;
    BlamedAddress blamed = BlamedAddress::none;
    std::uint32_t process = 0;  // failure: the process whose memory or death caused it
    std::uint32_t place = 0;    // successful invoke: InvokeRequest::place
};

// A call of a numbered operation on the node of a process.
struct InvokeRequest {
    // even; no outstanding command or invoke of this initiator has it
    std::uint64_t token = 0;
    std::uint32_t initiator = 0;  // a process of this node
    std::uint32_t operation = 0;  // its number
    std::uint32_t process = 0;    // the process on whose memory it runs
    std::uint32_t place = 0;      // chosen by the initiator; returned with the result
    // As in memory::NumberedCommand; the copies are to `process`.
    std::uint64_t before = 0;
    std::uint32_t before_count = 0;
};

class Completions {
public:
    Completions() = default;
    virtual ~Completions() = default;
    Completions(const Completions&) = delete;
    Completions& operator=(const Completions&) = delete;
    // Called when commands of one of this node's processes have completed.
    virtual void on_completion(const CommandEnd& completion) = 0;
    // Called with the result of a successful invoke, before on_completion() with the same
    // completion. `result` is valid during the call.
    virtual void on_result(const CommandEnd& completion, std::span<const std::byte> result) = 0;
    // Called once for each loss that this router detected or another node reported, except for
    // deaths passed to Router::note_death().
    virtual void on_process_dead(std::uint32_t process, const base::ProcessEnd& end) = 0;
    virtual void on_node_dead(NodeId node) = 0;
    // Meeting `number` has ended on all nodes; `table` is the table or minima that it gathered, or
    // empty.
    virtual void on_met(std::uint32_t number, std::span<const std::uint32_t> table) = 0;
};

struct RouterSettings {
    NodeId node = 0;
    NodeId nodes = 1;
    std::uint32_t procs = 1;
    std::uint32_t rails = 1;                  // 1 .. rails_max: endpoints that lead to each node
    std::uint32_t commands_max = 1U << 16;    // outstanding commands of this node's processes
    std::uint32_t executions_max = 1U << 14;  // commands of other nodes in progress here
    // Bytes of pieces kept per process; pieces beyond are refused.
    std::uint64_t undelivered_bytes_max = 256ULL * 1024;
    // Most waiting invokes of other nodes.
    std::uint32_t invokes_max = 1024;
    // Most short frames that wait for room; a node for which there is no more is severed.
    std::uint32_t notes_max = 1U << 18;
    // A node for which the endpoint has had no memory for this time is severed; 0: never.
    datagram::Time no_memory_max_ns = 0;
    std::uint32_t staging_buffers = 128;  // buffers for pieces that placement does not read at once
};

}  // namespace acp::router
