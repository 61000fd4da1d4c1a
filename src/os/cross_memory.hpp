// SPDX-License-Identifier: BSD-3-Clause
// Copies between this process's memory and another's by the kernel, without the other process's
// help. Does not check that the pid still names the intended process: the caller must have proved
// that. Allocates nothing, takes no lock. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace acp::os {

// One contiguous piece of a process's memory.
struct Piece {
    void* address;
    std::uint64_t bytes;
};

// Most pieces per side of one call.
inline constexpr std::uint32_t cross_memory_pieces_max = 1024;

// Copies remote -> local. Both lists are byte streams: their totals must be equal, their pieces
// need not be.
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

// Whether the calls above cannot read this process's own memory: pages of memfd_secret and the
// like, at the range's first or last byte. false where the kernel refuses the calls altogether, and
// for memory that is not mapped.
[[nodiscard]] bool is_hidden_from_others(const void* address, std::uint64_t bytes) noexcept;

// read_process() and write_process() for one piece, where the caller only needs to know whether all
// of it was moved. Inline, because after a system call each return from a function costs as much as
// a cache miss. Returns whether all of it was moved.
inline bool read_process_whole(int pid,
                               void* local,
                               const void* remote,
                               std::uint64_t bytes) noexcept {
    const iovec here{local, bytes};
    const iovec there{const_cast<void*>(remote), bytes};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

inline bool write_process_whole(int pid,
                                const void* local,
                                void* remote,
                                std::uint64_t bytes) noexcept {
    const iovec here{const_cast<void*>(local), bytes};
    const iovec there{remote, bytes};
    return process_vm_writev(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace acp::os
