// SPDX-License-Identifier: BSD-3-Clause
// Calls process_vm_readv and process_vm_writev.
#include "os/cross_memory.hpp"

#include <cerrno>
#include <climits>
#include <cstddef>
#include <sys/uio.h>
#include <unistd.h>

namespace acp::os {

// A span of Piece is passed to the kernel as an array of iovec.
static_assert(sizeof(Piece) == sizeof(iovec));
static_assert(offsetof(Piece, address) == offsetof(iovec, iov_base));
static_assert(offsetof(Piece, bytes) == offsetof(iovec, iov_len));
static_assert(sizeof(Piece::bytes) == sizeof(iovec::iov_len));
static_assert(cross_memory_pieces_max <= IOV_MAX);

namespace {

const iovec* vectors(std::span<const Piece> pieces) noexcept {
    return reinterpret_cast<const iovec*>(pieces.data());
}

}  // namespace

std::int64_t read_process(int pid,
                          std::span<const Piece> local,
                          std::span<const Piece> remote) noexcept {
    const ssize_t moved =
        process_vm_readv(pid, vectors(local), local.size(), vectors(remote), remote.size(), 0);
    return moved >= 0 ? moved : -errno;
}

std::int64_t write_process(int pid,
                           std::span<const Piece> local,
                           std::span<const Piece> remote) noexcept {
    const ssize_t moved =
        process_vm_writev(pid, vectors(local), local.size(), vectors(remote), remote.size(), 0);
    return moved >= 0 ? moved : -errno;
}

bool is_hidden_from_others(const void* address, std::uint64_t bytes) noexcept {
    if (bytes == 0) return false;
    char byte = 0;
    const iovec here{&byte, 1};
    for (const std::uint64_t at : {std::uint64_t{0}, bytes - 1}) {
        void* const place = const_cast<char*>(static_cast<const char*>(address)) + at;
        const iovec there{place, 1};
        if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT) return true;
    }
    return false;
}

}  // namespace acp::os
