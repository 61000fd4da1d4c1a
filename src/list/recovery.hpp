// SPDX-License-Identifier: BSD-3-Clause
// Completes the operation of a dead participant: helps the operation that it had begun, and then
// finds by marks whether the node that it had made is in a list, and whether it had taken one out.
// Another survivor may repeat each step. Included by list/lists.hpp.
// Tests: tests/unit/list/kill_test.cpp.
#pragma once

#include "list/lists.hpp"

namespace acp::list {

template <template <class> class Atomic>
template <typename IsDead>
bool SharedLists<Atomic>::recover(std::uint32_t dead, const IsDead& is_dead) {
    auto& shown = ground_.participants()[dead];
    if (!table::claim_recovery(shown.recoverer, ground_.own(), is_dead)) return false;
    const bool is_apart_freed = ground_.finish_freeing_apart(dead, [&](std::uint64_t address) {
        const BlockNumber taken = shown.taken.load(std::memory_order_acquire);
        return shown.made_apart.load(std::memory_order_acquire) == address ||
               (taken != 0 && mark::is_apart(mark_of(taken)) &&
                payload_word(taken).load(std::memory_order_acquire) == address);
    });
    const auto is_known = [&](BlockNumber block) {
        return shown.has_made(block) || shown.taken.load(std::memory_order_acquire) == block ||
               retired_.has(dead, block);
    };
    const bool is_freed =
        table::finish_freeing<Atomic>(ground_.blocks(), ground_.participants(), dead, is_known);
    const BlockNumber first = shown.lists[0].load(std::memory_order_acquire);
    const std::uint64_t busy = turn::of(dead, shown.number.load(std::memory_order_acquire));
    if (shown.names.load(std::memory_order_acquire) != 0 && ground_.has_head(first) &&
        ground_.head(first).turn.load(std::memory_order_acquire) == busy) {
        turns_.help(busy);
    }
    const std::uint64_t made = shown.made.load(std::memory_order_acquire);
    const BlockNumber node = table::made::block_in(made);
    const bool is_unseen =
        node != 0 && ((made & table::made::filled) == 0 || mark::is_made_by(mark_of(node), dead));
    // A linked node owns its payload. No reclaimer frees the node before `made` is cleared.
    const std::uint64_t apart = shown.made_apart.load(std::memory_order_acquire);
    const bool is_linked = node != 0 && !is_unseen;
    const auto forget_apart = [&] { shown.made_apart.store(0, std::memory_order_release); };
    if (apart == 0 || is_linked || !ground_.unlink_and_free_apart(apart, forget_apart))
        forget_apart();
    const auto forget = [&] { shown.made.store(0, std::memory_order_release); };
    if (is_unseen) {
        // A filled head has its mark already.
        if ((made & table::made::filled) == 0)
            ground_.node(node).mark.store(0, std::memory_order_release);
        ground_.unlink_and_free(node, table::Spare::second_word, forget);
    } else {
        forget();
    }
    const BlockNumber taken = shown.taken.load(std::memory_order_acquire);
    if (taken != 0 && mark::is_claimed_by(mark_of(taken), dead) && !retired_.has(dead, taken)) {
        (void)free_payload(taken);
        retire(dead, taken);
    }
    shown.taken.store(0, std::memory_order_release);
    shown.names.store(0, std::memory_order_release);
    const bool is_done = scan(dead) && is_freed && is_apart_freed;
    shown.recoverer.store(0, std::memory_order_release);
    return is_done;
}

}  // namespace acp::list
