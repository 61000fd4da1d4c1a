// SPDX-License-Identifier: BSD-3-Clause
// What stands in shared memory beside the leases of one owner: who calls it, and who writes for it. Knows nothing of what is written.
// Zeros are a desk that nobody has used. Tests: tests/unit/pm, tests/unit/operations/leased_put_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/lease.hpp"

namespace acp::sync {

template <template <class> class Atomic = std::atomic>
struct LeaseDesk {
    // A bit for each lease under which something was written while its place was not watched; writers: holders (set), the owner (clears)
    Atomic<std::uint64_t> calls{0};
    Atomic<std::uint64_t> wanted{
        0};  // 1: somebody found no free lease; writers: they, the owner (0)
    alignas(64) WriterNote<
        Atomic> own;  // of the process whose desk it is, which writes where others of its node own leases
    alignas(64)
        WriterNote<Atomic> gateway;  // of the gateway, which writes here for holders on other nodes
};

template <template <class> class Atomic = std::atomic>
struct alignas(64) LeasedLine {
    LeaseWords<Atomic> words;
    Atomic<std::uint64_t> is_watched{
        0};  // 1: the owner looks at the place unasked; writer: the owner
    Atomic<std::uint64_t> asks{
        0};  // not 0: the holder has lost what the owner told it; writers: the holder, the owner (0)
};

static_assert(sizeof(LeaseDesk<>) == 192 && sizeof(LeasedLine<>) == 64);

}  // namespace acp::sync
