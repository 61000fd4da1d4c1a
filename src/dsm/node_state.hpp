// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a node know together between the steps of a barrier: the set of written pages,
// who flushes which, and what each rank has to unmap. In shared memory of the node; it outlives each
// rank. Knows no kernel facility. Fields, their writers and readers:
//
//   epoch        u64   the leader, in step 5; all ranks read it
//   written[]    u64   a bit a page: or-ed by ranks in step 1 (harvest) and by flush hints; cleared by
//                      the rank that has flushed the page, after complete() and its notice
//   cursor       u64   the next group of 64 pages to flush; fetch_add by all ranks in step 2
//   flushed[]    u64   a bit a page whose difference was not empty: the leader's notices
//   dropped[]    runs  written by the leader in step 6, read by all ranks in step 7; a count and
//                      runs_max runs; more: the count says "all pages that are not homes"
//   step         u32   the last step that the leader has completed in this epoch, a futex
//
// A rank that dies: in step 1 its unharvested writes are lost with it, as in every release-consistent
// memory, and the barrier reports the death; in step 2 its groups stay in `written`, and
// the leader flushes them before step 5. A leader that dies: the lowest living slot repeats its step,
// whose stores are idempotent (pages/page_word.hpp).
// Tests: tests/unit/dsm/node_state_test.cpp: kill and stop at every store, as the heap.
#pragma once

#include <cstdint>

#include "dsm/window.hpp"

namespace acp::dsm {

struct NodeStateLayout {
    static constexpr std::uint32_t version = 1;
    static constexpr std::uint32_t runs_max = 4096;

    [[nodiscard]] static std::uint64_t bytes(std::uint64_t pages) noexcept;
};

}  // namespace acp::dsm
