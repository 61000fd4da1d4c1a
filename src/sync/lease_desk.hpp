// SPDX-License-Identifier: BSD-3-Clause
// The words in shared memory beside the leases of one owner: by them holders call the owner,
// processes ask for a lease, and writers publish where they write. Knows nothing of what is
// written. Zeros are an unused desk.
// Tests: tests/unit/pm, tests/unit/operations/leased_put_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/lease.hpp"

namespace acp::sync {

template <template <class> class Atomic = std::atomic>
struct LeaseDesk {
    // A bit for each lease whose holder wrote while the owner did not watch its place. Writers:
    // holders (set), the owner (clears).
    Atomic<std::uint64_t> calls{0};
    // 1: a process found no free lease. Writers: that process (1), the owner (0).
    Atomic<std::uint64_t> wanted{0};
    // The note of the desk's owner, for its writes under leases that other processes of its node
    // own.
    alignas(64) WriterNote<Atomic> own;
    // The note of the node's gateway, which writes to this owner's places for holders on other
    // nodes.
    alignas(64) WriterNote<Atomic> gateway;
};

template <template <class> class Atomic = std::atomic>
struct alignas(64) LeasedLine {
    LeaseWords<Atomic> words;
    // 1: the owner polls the place, and the holder need not call. Writer: the owner.
    Atomic<std::uint64_t> is_watched{0};
    // not 0: the holder asks the owner to send its credit again. Writers: the holder, the owner
    // (0).
    Atomic<std::uint64_t> asks{0};
};

static_assert(sizeof(LeaseDesk<>) == 192 && sizeof(LeasedLine<>) == 64);

}  // namespace acp::sync
