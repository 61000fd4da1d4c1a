// SPDX-License-Identifier: BSD-3-Clause
// What a router is told about its job, and the interfaces its owner implements: where processes are (Map), and who hears how
// commands end and who is lost (Completions). Every part of the router knows this file and none of them knows Router.
// One thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "datagram/endpoint.hpp"
#include "memory/command.hpp"
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

// `count` commands of one initiator have ended: tokens token, token + 2, ...
struct CommandEnd {
    std::uint32_t initiator = 0;
    std::uint32_t count = 1;
    std::uint64_t token = 0;
    std::uint64_t value = 0;  // of an invoke: bytes of its result
    base::Code code = base::Code::ok;
    BlamedAddress end = BlamedAddress::none;
    std::uint32_t process = 0;  // of a failure: whose memory or death
};

class Completions {
public:
    Completions() = default;
    virtual ~Completions() = default;
    Completions(const Completions&) = delete;
    Completions& operator=(const Completions&) = delete;
    virtual void on_completion(const CommandEnd& completion) = 0;
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

}  // namespace acp::router
