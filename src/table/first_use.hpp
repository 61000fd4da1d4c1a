// SPDX-License-Identifier: BSD-3-Clause
// An unused container belongs to the process that made it: if that process dies, the container is
// destroyed, because no other process may know of it. Its mark says that it is unused, and a loan
// (Blocks::lend) lets recovery find it. The first use, by any process, ends both. The thread that
// ends the loan wins: it either uses or destroys the container. For all kinds of containers. Any
// thread. Tests: tests/unit/allocator/unused_containers_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "table/blocks.hpp"
#include "table/words.hpp"

namespace acp::table {

// Returns the first mark of a container that is being made, from its mark after the first use.
//   maker  the process that owns it until then; no_process: none does, and no loan is made. The
//          mark is also `mark` if there is no room for the loan
template <template <class> class Atomic>
[[nodiscard]] std::uint64_t first_mark(Blocks<Atomic>& blocks,
                                       BlockNumber block,
                                       std::uint64_t mark,
                                       std::uint64_t maker) {
    const bool is_lent = maker != no_process && blocks.lend(block, maker);
    return is_lent ? mark ^ unused::of(maker) : mark;
}

// Neither inline nor gnu::cold: see CachePlaces::borrow_any.
template <template <class> class Atomic>
[[nodiscard, gnu::noinline]] bool begin_use(Blocks<Atomic>& blocks,
                                            Atomic<std::uint64_t>& word,
                                            BlockNumber block,
                                            std::uint64_t mark,
                                            std::uint64_t now) {
    if (!unused::is_of(now ^ mark) || !blocks.end_by_use(block, unused::maker_in(now ^ mark)))
        return false;
    // acq_rel: another thread may use it first at the same time (the mark is then what we want), or
    // destroy it
    return word.compare_exchange_strong(now, mark, std::memory_order_acq_rel,
                                        std::memory_order_acquire) ||
           now == mark;
}

// Whether a container of this mark is there. This counts as its first use.
template <template <class> class Atomic>
[[nodiscard, gnu::always_inline]] inline bool is_there(Blocks<Atomic>& blocks,
                                                       Atomic<std::uint64_t>& word,
                                                       BlockNumber block,
                                                       std::uint64_t mark) {
    // acquire: its maker's writes; partner: the store of its first mark
    const std::uint64_t now = word.load(std::memory_order_acquire);
    if (now == mark) [[likely]]
        return true;
    return begin_use(blocks, word, block, mark, now);
}

}  // namespace acp::table
