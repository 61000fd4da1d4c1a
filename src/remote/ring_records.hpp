// SPDX-License-Identifier: BSD-3-Clause
// The content of the rings between a process and the gateway of its node. Zero memory is a pair of
// empty rings. Each counter and record has one writer, so a process that is killed at any store
// leaves the last record either unpublished or complete. Counters only grow. There are no pointers:
// the two ends map the memory at different addresses.
// Tests: tests/unit/remote/gateway_rings_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "memory/command.hpp"
#include "node/ring_layout.hpp"
#include "node/segment.hpp"
#include "remote/record_ring.hpp"

namespace acp::remote {

// Writer: the process. Reader: the gateway.
struct CommandRecord {
    std::uint64_t token;
    // Untrusted: the operation may be invalid. For an invoke: target is the process, operand the
    // operation's number, bytes the size of the arguments, and source the cell in which they lie.
    memory::Command command;
    std::uint64_t reserved;
};

// Writer: the gateway. Reader: the process.
struct EndedRecord {
    std::uint64_t token;
    std::uint32_t count;   // number of commands, with the tokens token, token + 2, ...
    std::uint32_t code;    // base::Code
    std::uint32_t blamed;  // BlamedAddress
    std::uint32_t process;
    std::uint32_t result_bytes;  // size of an invoke's result
    std::uint32_t cell;          // the InvokeCell with the result
};

// Arguments and result of an invoke, which do not fit into its records. The cell belongs to an
// invoke from the publication of its command to that of its completion.
struct InvokeCell {
    std::byte arguments[memory::invoke_bytes_max];  // writer: the process; reader: the gateway
    std::byte result[memory::invoke_bytes_max];     // writer: the gateway; reader: the process
};

struct RingPair {
    // writer: the process; reader: the gateway
    alignas(64) std::atomic<std::uint64_t> commands_published;
    // writer: the gateway; reader: the process
    alignas(64) std::atomic<std::uint64_t> commands_taken;
    // writer: the gateway; reader: the process
    alignas(64) std::atomic<std::uint64_t> ended_published;
    // writer: the process; reader: the gateway
    alignas(64) std::atomic<std::uint64_t> ended_taken;
    alignas(64) CommandRecord commands[node::ring_records];
    EndedRecord ended[node::ring_records];
    InvokeCell invokes[node::invoke_cells];  // indexed by LinkInvocation::place
};

static_assert(sizeof(CommandRecord) == node::command_record_bytes);
static_assert(std::is_standard_layout_v<CommandRecord> && sizeof(memory::Command) == 48);
static_assert(sizeof(EndedRecord) == node::ended_record_bytes);
static_assert(sizeof(RingPair) == node::RingLayout::bytes);
static_assert(offsetof(RingPair, commands) == node::RingLayout::commands_at);
static_assert(offsetof(RingPair, ended) == node::RingLayout::ended_at);
static_assert(offsetof(RingPair, invokes) == node::RingLayout::invokes_at);
static_assert(sizeof(InvokeCell) == node::invoke_cell_bytes);

using CommandRing = RecordRing<CommandRecord>;
using EndedRing = RecordRing<EndedRecord>;

[[nodiscard]] inline RingPair& ring_pair(const node::Segment& segment,
                                         std::uint32_t slot) noexcept {
    return *reinterpret_cast<RingPair*>(segment.rings(slot));
}

[[nodiscard]] inline CommandRing command_ring(RingPair& pair) noexcept {
    return {pair.commands, node::ring_records, &pair.commands_published, &pair.commands_taken};
}

[[nodiscard]] inline EndedRing ended_ring(RingPair& pair) noexcept {
    return {pair.ended, node::ring_records, &pair.ended_published, &pair.ended_taken};
}

}  // namespace acp::remote
