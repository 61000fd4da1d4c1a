// SPDX-License-Identifier: BSD-3-Clause
// How each change of a list is planned, and how a reader steps from element to element. Included by
// list/lists.hpp.
// Each plan changes the mark of a node first. So once a reader has seen a node gone from its list,
// it never again finds that node's mark live. The mark of an element that moves between two lists
// is not live in between, so a reader of one list never sees the element with its mark of the other
// one.
// Tests: tests/unit/list/list_test.cpp, concurrency_test.cpp.
#pragma once

#include "list/lists.hpp"

namespace acp::list {

// Gives a block the mark of a node of the calling thread that is in no list.
template <template <class> class Atomic>
void SharedLists<Atomic>::make_node_of(BlockNumber node,
                                       std::uint64_t bytes,
                                       bool is_apart) noexcept {
    const std::uint64_t tentative =
        mark::of(mark::tentative, mark::shape(bytes, is_apart), mark::stamp_of(ground_.own()));
    ground_.node(node).mark.store(tentative, std::memory_order_relaxed);
    ground_.shown().made.store(table::made::of(node) | table::made::filled,
                               std::memory_order_release);
}

//   side  previous: inserts before the position; next: behind it
template <template <class> class Atomic>
ListEffect SharedLists<Atomic>::insert_at(
    BlockNumber list, const Position& before, Field side, const Payload& payload, Position& made) {
    if (!is_list(list)) return ListEffect::no_list;
    const BlockNumber node = reserve(payload.bytes.count, payload.is_apart);
    if (node == 0) return ListEffect::no_room;
    fill(node, payload.bytes);
    const ListEffect effect = link_at(node, list, before, side, made);
    if (effect != ListEffect::done) drop(node);
    return effect;
}

template <template <class> class Atomic>
ListEffect SharedLists<Atomic>::link_at(
    BlockNumber node, BlockNumber list, const Position& before, Field side, Position& made) {
    auto& own = ground_.shown();
    for (TurnPlan plan;;) {
        const ListEffect begun = begin(plan, list);
        if (begun != ListEffect::done) return begun;
        if (before.node != list && !is_element(plan, 0, before)) return ListEffect::stale;
        const BlockNumber beside = neighbour_in(before.node, side);
        if (!ground_.has_node(beside)) {
            if (turns_.has_changed(plan)) continue;
            return ListEffect::damaged;
        }
        const bool is_behind = side == Field::next;
        const BlockNumber left = is_behind ? before.node : beside;
        const BlockNumber right = is_behind ? beside : before.node;
        const std::uint64_t sequence = turn::sequence_in(plan.idles[0]) + 1;
        const std::uint64_t tentative = mark_of(node);
        const std::uint64_t live = mark::of(mark::live, tentative, sequence);
        ground_.node(node).next.store(link::to(right, sequence), std::memory_order_relaxed);
        ground_.node(node).previous.store(link::to(left, sequence), std::memory_order_relaxed);
        plan.add({place::of(node, Field::mark), tentative, live});
        relink(plan, left, Field::next, node);
        relink(plan, right, Field::previous, node);
        recount(plan, list, 1);
        if (!turns_.run(plan)) continue;
        own.made_apart.store(0, std::memory_order_release);
        own.made.store(0, std::memory_order_release);
        made = {node, live};
        return ListEffect::done;
    }
}

//   find(plan, node)  finds the node to take out; false: the element is not in the list
template <template <class> class Atomic>
template <typename Find>
ListEffect SharedLists<Atomic>::take_any(BlockNumber list, const Find& find, Taken& taken) {
    auto& own = ground_.shown();
    const auto give_up = [&](ListEffect effect) {
        own.taken.store(0, std::memory_order_release);
        return effect;
    };
    for (TurnPlan plan;;) {
        const ListEffect begun = begin(plan, list);
        if (begun != ListEffect::done) return give_up(begun);
        BlockNumber node = 0;
        if (!find(plan, node)) return give_up(ListEffect::stale);
        if (node == list) return give_up(ListEffect::end);
        const std::uint64_t live = ground_.has_node(node) ? mark_of(node) : 0;
        const bool is_element =
            mark::kind_of(live) == mark::live && ground_.has_element(node, live);
        const BlockNumber left = is_element ? neighbour_in(node, Field::previous) : 0;
        const BlockNumber right = is_element ? neighbour_in(node, Field::next) : 0;
        if (!ground_.has_node(left) || !ground_.has_node(right)) {
            if (turns_.has_changed(plan)) continue;
            return give_up(ListEffect::damaged);
        }
        const std::uint64_t right_mark = right != list ? mark_of(right) : 0;
        own.taken.store(node, std::memory_order_release);
        plan.add({place::of(node, Field::mark), live,
                  mark::of(mark::claimed, live, mark::stamp_of(ground_.own()))});
        unlink(plan, left, right);
        recount(plan, list, ~std::uint64_t{0});
        if (!turns_.run(plan)) continue;
        taken = {node, mark::bytes_in(live), mark::is_apart(live), {right, right_mark}};
        return ListEffect::done;
    }
}

// The mark of a node in transit to a list where it will have the mark `live`.
[[nodiscard]] constexpr std::uint64_t transit_of(std::uint64_t live) noexcept {
    return (live & ~mark::kind_mask) | mark::tentative;
}

template <template <class> class Atomic>
void SharedLists<Atomic>::plan_move(TurnPlan& plan,
                                    const Moving& moving,
                                    Position& moved) const noexcept {
    const bool is_same = moving.to == moving.from;
    const BlockNumber node = moving.element.node;
    if (!is_same) {
        moved.mark = mark::of(mark::live, moving.element.mark,
                              turn::sequence_in(plan.idles[moving.to < moving.from ? 0 : 1]) + 1);
        plan.add({place::of(node, Field::mark), moving.element.mark, transit_of(moved.mark)});
    }
    unlink(plan, moving.left, moving.right);
    relink(plan, moving.beside, Field::next, node);
    relink(plan, moving.before.node, Field::previous, node);
    relink(plan, node, Field::next, moving.before.node);
    relink(plan, node, Field::previous, moving.beside);
    if (is_same) return;
    recount(plan, moving.from, ~std::uint64_t{0});
    recount(plan, moving.to, 1);
    plan.add({place::of(node, Field::mark), transit_of(moved.mark), moved.mark});
}

template <template <class> class Atomic>
ListEffect SharedLists<Atomic>::move(BlockNumber to,
                                     const Position& before,
                                     BlockNumber from,
                                     const Position& element,
                                     Position& moved) {
    for (TurnPlan plan;;) {
        const ListEffect begun = begin_both(plan, to, from);
        if (begun != ListEffect::done) return begun;
        if (element.node == from) return ListEffect::end;
        const std::uint32_t to_which = to > from ? 1 : 0;
        const std::uint32_t from_which = from > to ? 1 : 0;
        if (!is_element(plan, from_which, element) ||
            (before.node != to && !is_element(plan, to_which, before))) {
            return ListEffect::stale;
        }
        const Moving moving{to,
                            from,
                            before,
                            element,
                            neighbour_in(element.node, Field::previous),
                            neighbour_in(element.node, Field::next),
                            neighbour_in(before.node, Field::previous)};
        if (!ground_.has_node(moving.left) || !ground_.has_node(moving.right) ||
            !ground_.has_node(moving.beside)) {
            if (turns_.has_changed(plan)) continue;
            return ListEffect::damaged;
        }
        moved = element;
        const bool is_there =
            to == from && (before.node == element.node || before.node == moving.right);
        if (is_there) return ListEffect::done;
        plan_move(plan, moving, moved);
        if (turns_.run(plan)) return ListEffect::done;
    }
}

template <template <class> class Atomic>
ListEffect SharedLists<Atomic>::neighbour(BlockNumber list,
                                          const Position& from,
                                          Field direction,
                                          Position& to) const {
    // The link and mark that were seen while an operation was changing the element beside `from`.
    // Both words contain operation numbers: once the operation has been helped to its end, the same
    // two words do not occur again.
    std::uint64_t helped_word = 0;
    std::uint64_t helped_mark = 0;
    for (;;) {
        if (!is_list(list)) return ListEffect::no_list;
        if (from.node != list && !is_at(from)) return ListEffect::stale;
        auto& link_word = ground_.word(from.node, direction);
        const std::uint64_t word = link_word.load(std::memory_order_acquire);
        const BlockNumber node = link::node_in(word);
        Position found{node, 0};
        if (node != list && ground_.has_node(node)) found.mark = mark_of(node);
        // The link is unchanged, so the node was beside `from` when its mark was read. The mark of
        // `from` is unchanged, so the link belonged to it.
        const bool is_true =
            link_word.load(std::memory_order_acquire) == word && (from.node == list || is_at(from));
        if (is_true && (node == list || is_at(found))) {
            to = found;
            return ListEffect::done;
        }
        if (is_true && word == helped_word && found.mark == helped_mark)
            return is_list(list) ? ListEffect::damaged : ListEffect::no_list;
        turns_.help_list(list);
        helped_word = is_true ? word : 0;
        helped_mark = found.mark;
    }
}

// Frees the block of an element whose bytes are in a separate block. Returns 0, or the block's
// address if this process cannot free it or the caller keeps it.
template <template <class> class Atomic>
std::uint64_t SharedLists<Atomic>::free_payload(BlockNumber node, bool is_kept) {
    if (!mark::is_apart(mark_of(node))) return 0;
    auto& word = payload_word(node);
    const std::uint64_t address = word.load(std::memory_order_acquire);
    if (address == 0) return 0;
    const auto forget = [&] { word.store(0, std::memory_order_release); };
    if (!is_kept && ground_.unlink_and_free_apart(address, forget)) return 0;
    forget();
    return address;
}

template <template <class> class Atomic>
template <typename Left>
ListEffect SharedLists<Atomic>::destroy(BlockNumber list,
                                        std::uint64_t count_max,
                                        const Left& left) {
    for (std::uint64_t count = 0;;) {
        Taken taken;
        const ListEffect effect = take_first(list, taken);
        if (effect == ListEffect::no_list || effect == ListEffect::damaged) return effect;
        if (effect == ListEffect::done) {
            if (const std::uint64_t address = settle(taken); address != 0) left(address);
            if (++count == count_max) return ListEffect::more;
            continue;
        }
        TurnPlan plan;
        const ListEffect begun = begin(plan, list);
        if (begun != ListEffect::done) return begun;
        if (neighbour_in(list, Field::next) != list) continue;
        ground_.shown().taken.store(list, std::memory_order_release);
        plan.add({place::of(list, Field::mark), mark::of_list(list),
                  mark::of(mark::claimed, 0, mark::stamp_of(ground_.own()))});
        if (turns_.run(plan)) break;
        ground_.shown().taken.store(0, std::memory_order_release);
    }
    retire(ground_.own(), list);
    reclaim();
    return ListEffect::done;
}

template <template <class> class Atomic>
template <typename Begun>
bool SharedLists<Atomic>::destroy_unused(BlockNumber list,
                                         std::uint32_t maker,
                                         const Begun& begun) {
    if (!ground_.has_head(list)) return false;
    auto& taken = ground_.shown().taken;
    taken.store(list, std::memory_order_release);
    std::uint64_t word = mark::of_list(list) ^ table::unused::of(maker);
    // acq_rel: its maker's writes; partner: recover(), if this participant is killed
    if (!ground_.head(list).ring.mark.compare_exchange_strong(
            word, mark::of(mark::claimed, 0, mark::stamp_of(ground_.own())),
            std::memory_order_acq_rel, std::memory_order_relaxed)) {
        taken.store(0, std::memory_order_release);
        return false;
    }
    begun();
    retire(ground_.own(), list);
    reclaim();
    return true;
}

}  // namespace acp::list
