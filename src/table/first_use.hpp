// SPDX-License-Identifier: BSD-3-Clause
// A container that nobody has used yet belongs to the process that made it: should that die, the container is destroyed, for nobody else
// may know of it. Its mark says so, and a loan (Blocks::lend) by which others find it. The first use of it, by anybody, ends both: whoever
// ends the loan decides. For all kinds of containers. Any thread. Tests: tests/unit/allocator/unused_containers_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "table/blocks.hpp"
#include "table/words.hpp"

namespace acp::table {

// The mark of a container that is about to be there, by its mark after the first use.
//   maker  to be lent to; no_process: it is in use from the start, as where there is no room for the loan
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
    // acq_rel: another one may use it first at the same time, or destroy it; then it is as it finds it
    return word.compare_exchange_strong(now, mark, std::memory_order_acq_rel,
                                        std::memory_order_acquire) ||
           now == mark;
}

// Whether a container of this mark is there. From then on it is in use.
template <template <class> class Atomic>
[[nodiscard, gnu::always_inline]] inline bool is_there(Blocks<Atomic>& blocks,
                                                       Atomic<std::uint64_t>& word,
                                                       BlockNumber block,
                                                       std::uint64_t mark) {
    // acquire: what its maker has written; partner: the store of its first mark
    const std::uint64_t now = word.load(std::memory_order_acquire);
    if (now == mark) [[likely]]
        return true;
    return begin_use(blocks, word, block, mark, now);
}

}  // namespace acp::table
