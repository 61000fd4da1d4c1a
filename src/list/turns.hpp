// SPDX-License-Identifier: BSD-3-Clause
// A multi-word compare-and-swap serializes the operations on a list. A thread writes a descriptor
// of the words that it changes, and makes the list's turn word busy with it. Then the operation is
// decided: every thread that finds the turn busy helps, changes the words that are not changed yet,
// and makes the turn idle again. So a thread that is stopped or killed anywhere delays no other
// thread.
//
// Data that a thread has read of a list is consistent if the turn is still the idle word that it
// had read before. An operation on two lists takes the second turn after the first one; if the
// second list has changed since the operation began, the operation is cancelled, and its thread
// retries. Turns are taken in the order of list numbers, so no two operations block each other.
//
// Source: T. Harris, K. Fraser, I. Pratt, A practical multi-word compare-and-swap operation, DISC
// 2002, with one turn word per list in place of a descriptor in each changed word. Tests:
// tests/unit/list.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/assert.hpp"

#include "list/ground.hpp"

namespace acp::list {

// The descriptor of a multi-word compare-and-swap while its thread fills it in.
struct TurnPlan {
    struct Word {
        std::uint64_t place;
        std::uint64_t old_word;
        std::uint64_t new_word;
    };

    std::array<BlockNumber, lists_max> lists{};    // in rising order; the second one may be 0
    std::array<std::uint64_t, lists_max> idles{};  // the idle words of their turns when it began
    std::array<Word, changes_max> words{};
    std::uint64_t count = 0;

    // Words are changed in the order in which they were added.
    void add(const Word& word) noexcept {
        ACP_ASSERT(count < changes_max);
        words[count++] = word;
    }
};

template <template <class> class Atomic>
class Turns {
public:
    explicit Turns(const ListGround<Atomic>& ground) noexcept : ground_(ground) {}

    // The idle word of a list's turn, after helping its busy operations to their end. Returns a
    // busy word if help could not complete its operation: then the word was overwritten, or the
    // list is gone.
    [[nodiscard]] std::uint64_t idle_of(BlockNumber list) const {
        auto& head = ground_.head(list);
        std::uint64_t helped = 0;
        for (;;) {
            const std::uint64_t word = head.turn.load(std::memory_order_acquire);
            // help() completes every operation that has a descriptor: the busy word of one that was
            // helped does not occur again.
            if (!turn::is_busy(word) || word == helped) [[likely]]
                return word;
            if (head.ring.mark.load(std::memory_order_acquire) != mark::of_list(list)) return word;
            help(word);
            helped = word;
        }
    }

    // Whether an operation on one of a plan's lists has begun since the plan did: then the plan's
    // reads may be inconsistent, and its thread retries. acquire, here and at those reads.
    [[nodiscard]] bool has_changed(const TurnPlan& plan) const noexcept {
        return turn_of(plan, 0).load(std::memory_order_acquire) != plan.idles[0] ||
               (plan.lists[1] != 0 &&
                turn_of(plan, 1).load(std::memory_order_acquire) != plan.idles[1]);
    }

    // Helps the operation that a list is busy with, if any.
    void help_list(BlockNumber list) const {
        const std::uint64_t word = ground_.head(list).turn.load(std::memory_order_acquire);
        if (turn::is_busy(word)) help(word);
    }

    // Executes the plan. false: a list has changed since the plan began, and nothing was changed.
    bool run(const TurnPlan& plan) const {
        auto& own = ground_.shown();
        own.names.store(1, std::memory_order_relaxed);
        write(plan);
        const std::uint64_t number = own.number.load(std::memory_order_relaxed) + 1;
        own.number.store(number, std::memory_order_relaxed);
        own.verdict.store(verdict::of(number, verdict::open), std::memory_order_relaxed);
        const std::uint64_t busy = turn::of(ground_.own(), number);
        std::uint64_t idle = plan.idles[0];
        // release: the descriptor, for helpers, and the hazard words, for reclaimers; acquire: no
        // named word has changed before
        const bool is_begun = turn_of(plan, 0).compare_exchange_strong(
            idle, busy, std::memory_order_acq_rel, std::memory_order_acquire);
        const bool is_done = is_begun && finish(plan, busy);
        // after the last access to the named blocks
        own.names.store(0, std::memory_order_release);
        return is_done;
    }

    // Completes the operation that a turn is busy with, if it still is.
    void help(std::uint64_t busy) const {
        const std::uint32_t participant = turn::participant_in(busy);
        // not the word of a turn
        if (participant >= ground_.participants().count) return;
        TurnPlan plan;
        if (!read(ground_.participants()[participant], plan)) return;
        auto& own = ground_.shown();
        own.names.store(1, std::memory_order_relaxed);
        write(plan);
        // A reclaimer of these blocks changes the turn after our hazard words are published, so its
        // scan sees them.
        if (is_held(turn_of(plan, 0), busy)) (void)finish(plan, busy);
        own.names.store(0, std::memory_order_release);
    }

private:
    using Word = typename ListGround<Atomic>::Word;

    [[nodiscard]] Word& turn_of(const TurnPlan& plan, std::uint32_t which) const noexcept {
        return ground_.head(plan.lists[which]).turn;
    }

    void write(const TurnPlan& plan) const noexcept {
        auto& own = ground_.shown();
        for (std::uint32_t i = 0; i < lists_max; ++i) {
            own.lists[i].store(plan.lists[i], std::memory_order_relaxed);
            own.idles[i].store(plan.idles[i], std::memory_order_relaxed);
        }
        for (std::uint64_t i = 0; i < plan.count; ++i) {
            own.changes[i].place.store(plan.words[i].place, std::memory_order_relaxed);
            own.changes[i].old_word.store(plan.words[i].old_word, std::memory_order_relaxed);
            own.changes[i].new_word.store(plan.words[i].new_word, std::memory_order_relaxed);
        }
        own.change_count.store(plan.count, std::memory_order_relaxed);
    }

    // Copies another participant's descriptor, which may be changing: the caller checks afterwards
    // whether the turn is still busy with it. false: it is no valid descriptor.
    [[nodiscard]] bool read(const ListParticipant<Atomic>& other, TurnPlan& plan) const noexcept {
        plan.count = other.change_count.load(std::memory_order_relaxed);
        if (plan.count > changes_max) return false;
        for (std::uint32_t i = 0; i < lists_max; ++i) {
            plan.lists[i] = other.lists[i].load(std::memory_order_relaxed);
            plan.idles[i] = other.idles[i].load(std::memory_order_relaxed);
        }
        if (!ground_.has_head(plan.lists[0])) return false;
        if (plan.lists[1] != 0 && !ground_.has_head(plan.lists[1])) return false;
        for (std::uint64_t i = 0; i < plan.count; ++i) {
            const auto& change = other.changes[i];
            plan.words[i] = {change.place.load(std::memory_order_relaxed),
                             change.old_word.load(std::memory_order_relaxed),
                             change.new_word.load(std::memory_order_relaxed)};
            if (!ground_.has_place(plan.words[i].place)) return false;
        }
        return true;
    }

    // Whether a turn is busy with an operation. A compare-and-swap, which stores the same word: so
    // a thread that changes the turn later sees the calling thread's earlier writes, and vice
    // versa.
    [[nodiscard]] static bool is_held(Word& word, std::uint64_t busy) noexcept {
        std::uint64_t expected = busy;
        return word.compare_exchange_strong(expected, busy, std::memory_order_acq_rel,
                                            std::memory_order_acquire);
    }

    // Completes an operation with which the first turn was busy after this thread had published its
    // hazard words. false: it was cancelled.
    bool finish(const TurnPlan& plan, std::uint64_t busy) const {
        bool is_on = true;
        // the turns of all its lists are busy with it
        bool has_all = true;
        if (plan.lists[1] != 0) {
            Word& second = turn_of(plan, 1);
            std::uint64_t idle = plan.idles[1];
            has_all = second.compare_exchange_strong(idle, busy, std::memory_order_acq_rel,
                                                     std::memory_order_acquire) ||
                      (idle == busy && is_held(second, busy));
            is_on = decide(busy, has_all);
        }
        // If it was decided and the second turn is past it, other threads have changed all words.
        if (is_on && has_all) {
            for (std::uint64_t i = 0; i < plan.count; ++i) change(plan.words[i]);
            if (plan.lists[1] != 0) let_go(plan, 1, busy);
        }
        let_go(plan, 0, busy);
        return is_on;
    }

    // The first thread that has tried the second turn decides for all.
    [[nodiscard]] bool decide(std::uint64_t busy, bool has_all) const noexcept {
        auto& word = ground_.participants()[turn::participant_in(busy)].verdict;
        const std::uint64_t number = turn::number_in(busy);
        std::uint64_t found = verdict::of(number, verdict::open);
        const std::uint64_t own = verdict::of(number, has_all ? verdict::goes_on : verdict::is_off);
        if (word.compare_exchange_strong(found, own, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
            return has_all;
        }
        return found != verdict::of(number, verdict::is_off);
    }

    // acq_rel and acquire: the thread that makes the turn idle has seen every change, its own and
    // those of helpers
    void change(const TurnPlan::Word& word) const noexcept {
        std::uint64_t expected = word.old_word;
        (void)ground_.word_at(word.place)
            .compare_exchange_strong(expected, word.new_word, std::memory_order_acq_rel,
                                     std::memory_order_acquire);
    }

    void let_go(const TurnPlan& plan, std::uint32_t which, std::uint64_t busy) const noexcept {
        std::uint64_t expected = busy;
        (void)turn_of(plan, which)
            .compare_exchange_strong(expected, turn::next(plan.idles[which]),
                                     std::memory_order_acq_rel, std::memory_order_acquire);
    }

    const ListGround<Atomic>& ground_;
};

}  // namespace acp::list
