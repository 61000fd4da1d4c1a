// SPDX-License-Identifier: BSD-3-Clause
// A gateway's live counters in a memory file of its own, for processes that watch a job: of the
// same user, they open the agent's descriptor. The gateway writes at most ten times a second, and
// on request; a reader copies the block and takes the copy only if `sequence` was even and the same
// before and after. Fixed width, no pointers; zeros are a block that was never written. Writer: the
// gateway's thread; a writer that dies within leaves an odd number.
// Tests: tests/unit/gateway/stats_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace acp::gateway {

inline constexpr std::uint64_t stats_magic = 0x41435034'47415445ULL;  // "ACP4GATE"
inline constexpr std::uint32_t stats_version = 1;
inline constexpr std::size_t stats_peers_max = 64;     // those that sent most recently
inline constexpr std::size_t stats_counters_max = 96;  // counters of one table
inline constexpr std::size_t stats_slots_max = 1024;   // node::local_procs_max
inline constexpr std::uint64_t stats_interval_ns = 100'000'000;

struct StatsPeer {
    std::uint32_t node = 0;
    std::uint32_t is_severed = 0;
    std::uint64_t rtt_ns = 0;  // smoothed; 0: not measured
    std::uint64_t minimum_rtt_ns = 0;
    std::uint64_t window_bytes = 0;
    std::uint64_t credit = 0;  // new datagrams it still has room for
    std::uint64_t in_flight_bytes = 0;
    std::uint64_t datagram_bytes = 0;  // longest of its path
    std::uint64_t retransmitted = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
};

// Counters whose names are those of datagram::counter_names and router's, by the same index, in
// this build.
struct StatsTables {
    std::array<std::uint64_t, stats_counters_max> datagram{};
    std::array<std::uint64_t, stats_counters_max> router{};
    std::array<std::uint64_t, 16> transport{};  // TransportCounters, field by field
    std::array<std::uint64_t, 8>
        faults{};  // FaultCounters, field by field; 0 where none are injected
    std::array<std::uint64_t, 8> memory{};  // LocalPlacement::Counts, field by field
};

struct StatsValues {
    std::uint64_t updated_ns = 0;  // os::now_ns() of the last writing
    std::uint64_t started_ns = 0;
    std::uint32_t node = 0;
    std::uint32_t nodes = 0;
    std::uint32_t local_procs = 0;
    std::uint32_t peer_count = 0;
    std::uint32_t is_of_rank = 0;  // the gateway of a node's only rank, not its agent's
    std::uint32_t reserved = 0;
    std::uint64_t receive_drops = 0;  // datagrams the kernel dropped: receive buffer full
    std::uint64_t receive_bytes = 0;  // size of the buffer that the kernel granted
    std::uint64_t outstanding = 0;    // commands of this node's processes
    std::uint64_t turns = 0;
    std::uint64_t sleeps = 0;
    StatsTables tables;
    std::array<StatsPeer, stats_peers_max> peers{};
    std::array<std::uint32_t, stats_slots_max> outstanding_of{};  // commands, by slot
};

struct alignas(64) StatsBlock {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t values_bytes;  // sizeof(StatsValues): a reader of another build keeps off
    std::atomic<std::uint64_t> sequence;  // odd while the values are written
    alignas(64) StatsValues values;
};

static_assert(std::is_trivially_copyable_v<StatsValues> && std::is_standard_layout_v<StatsBlock>);
static_assert(sizeof(StatsPeer) == 80 && offsetof(StatsBlock, values) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace acp::gateway
