// SPDX-License-Identifier: BSD-3-Clause
// What stands in the rings between a process and the gateway of its node. Zero memory is a pair of empty rings.
// Every counter and record has one writer, so one that is killed at any store leaves either a record that was not
// published or a whole one. Counters only grow. No pointers: the two ends map the memory elsewhere.
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
    // Whatever the process wrote: its operation may be none. Of an invoke: target is the process, operand the number,
    // bytes those of the arguments, which stand in the cell of the token.
    memory::Command command;
    std::uint64_t reserved;
};

// Writer: the gateway. Reader: the process.
struct EndedRecord {
    std::uint64_t token;
    std::uint32_t count;  // tokens token, token + 2, ...
    std::uint32_t code;   // base::Code
    std::uint32_t end;    // FailedEnd
    std::uint32_t process;
    std::uint32_t result_bytes;  // of an invoke: in the cell of the token
    std::uint32_t reserved;
};

// What does not fit into the records of an invoke. From its command's publication to that of its end it is that token's.
struct InvokeCell {
    std::byte arguments[memory::invoke_bytes_max];  // writer: the process; reader: the gateway
    std::byte result[memory::invoke_bytes_max];     // writer: the gateway; reader: the process
};

struct RingPair {
    alignas(64)
        std::atomic<std::uint64_t> commands_published;  // writer: the process; reader: the gateway
    alignas(
        64) std::atomic<std::uint64_t> commands_taken;  // writer: the gateway; reader: the process
    alignas(
        64) std::atomic<std::uint64_t> ended_published;  // writer: the gateway; reader: the process
    alignas(64) std::atomic<std::uint64_t> ended_taken;  // writer: the process; reader: the gateway
    alignas(64) CommandRecord commands[node::ring_records];
    EndedRecord ended[node::ring_records];
    InvokeCell invokes[node::invoke_cells];  // by invoke_place()
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
