// SPDX-License-Identifier: BSD-3-Clause
// process_vm_readv and process_vm_writev.
#include "os/cross_memory.hpp"

#include <cerrno>
#include <climits>
#include <cstddef>
#include <sys/uio.h>

namespace acp::os {

// A list of pieces is handed to the kernel as it is.
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

}  // namespace acp::os
