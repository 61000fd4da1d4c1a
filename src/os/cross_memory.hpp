// SPDX-License-Identifier: BSD-3-Clause
// Copies between this process's memory and another's, by the kernel, without the other's help. Knows
// nothing of whether the pid is still the one that was meant: whoever calls must have proved that.
// Allocates nothing, takes no lock. Any thread.
#pragma once

#include <cstdint>
#include <span>

namespace acp::os {

// One contiguous piece of a process's memory.
struct Piece {
    void* address;
    std::uint64_t bytes;
};

// Most pieces of one side in one call.
inline constexpr std::uint32_t cross_memory_pieces_max = 1024;

// Copies remote -> local. The two lists are byte streams: they need equal totals, not equal cuts.
//   local, remote  0 .. cross_memory_pieces_max pieces
// Returns the bytes moved, in order of the lists (fewer than asked when a later page is not
// accessible), or -errno: -ESRCH no process, -EPERM not allowed, -EFAULT nothing accessible,
// -EINVAL too many pieces, -ENOSYS.
std::int64_t read_process(int pid,
                          std::span<const Piece> local,
                          std::span<const Piece> remote) noexcept;

// Copies local -> remote; otherwise as read_process.
std::int64_t write_process(int pid,
                           std::span<const Piece> local,
                           std::span<const Piece> remote) noexcept;

}  // namespace acp::os
