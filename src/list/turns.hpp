// SPDX-License-Identifier: BSD-3-Clause
// Operations on lists, one after the other for each list: a thread prepares which words it changes, writes that down where all see
// it, and makes the list's turn busy with it. From then on the operation is done, whoever carries it out: every thread that meets a
// busy turn changes the words that are not changed yet and makes the turn idle again. So a thread that stops or is killed anywhere
// delays nobody.
//
// What a thread has read of a list is true if the turn is still the idle word that it had read before. An operation on two lists
// takes the second turn when it has the first one; where that list has changed meanwhile the operation is off, and begins anew.
// The order of lists in it is that of their numbers, so no two operations hold each other up for ever.
//
// Source: T. Harris, K. Fraser, I. Pratt, A practical multi-word compare-and-swap operation, DISC 2002, with one word in place of
// a descriptor in each changed word. Tests: tests/unit/list.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/assert.hpp"

#include "list/ground.hpp"

namespace acp::list {

// What an operation is to change, while a thread prepares it.
struct TurnPlan {
    struct Word {
        std::uint64_t place;
        std::uint64_t old_word;
        std::uint64_t new_word;
    };

    std::array<BlockNumber, lists_max> lists{};    // in rising order; the second one may be 0
    std::array<std::uint64_t, lists_max> idles{};  // what their turns were when it began
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

    // The idle word of a list's turn, after helping the operations that it was busy with. A busy word: no help could complete that
    // operation, so the word was overwritten, or there is no such list any more.
    [[nodiscard]] std::uint64_t idle_of(BlockNumber list) const {
        auto& head = ground_.head(list);
        std::uint64_t helped = 0;
        for (;;) {
            const std::uint64_t word = head.turn.load(std::memory_order_acquire);
            // help() completes a described operation: the word of one that it has helped never appears again.
            if (!turn::is_busy(word) || word == helped) [[likely]]
                return word;
            if (head.ring.mark.load(std::memory_order_acquire) != mark::of_list(list)) return word;
            help(word);
            helped = word;
        }
    }

    // Whether an operation on one of a plan's lists has begun since the plan did: what the plan's thread has read since may be of two
    // moments, and it retries. acquire, all: as what it has read.
    [[nodiscard]] bool has_changed(const TurnPlan& plan) const noexcept {
        return turn_of(plan, 0).load(std::memory_order_acquire) != plan.idles[0] ||
               (plan.lists[1] != 0 &&
                turn_of(plan, 1).load(std::memory_order_acquire) != plan.idles[1]);
    }

    // Carries out what a list is busy with, if it is.
    void help_list(BlockNumber list) const {
        const std::uint64_t word = ground_.head(list).turn.load(std::memory_order_acquire);
        if (turn::is_busy(word)) help(word);
    }

    // Does what is planned. false: a list has changed since the plan began, and nothing was done.
    bool run(const TurnPlan& plan) const {
        auto& own = ground_.shown();
        own.names.store(1, std::memory_order_relaxed);
        write(plan);
        const std::uint64_t number = own.number.load(std::memory_order_relaxed) + 1;
        own.number.store(number, std::memory_order_relaxed);
        own.verdict.store(verdict::of(number, verdict::open), std::memory_order_relaxed);
        const std::uint64_t busy = turn::of(ground_.own(), number);
        std::uint64_t idle = plan.idles[0];
        // release: the description, for helpers, and what is named, for who frees; acquire: that nothing named was changed before
        const bool is_begun = turn_of(plan, 0).compare_exchange_strong(
            idle, busy, std::memory_order_acq_rel, std::memory_order_acquire);
        const bool is_done = is_begun && finish(plan, busy);
        own.names.store(0, std::memory_order_release);  // after the last access to what was named
        return is_done;
    }

    // Carries out the operation that a turn is busy with, if it still is.
    void help(std::uint64_t busy) const {
        const std::uint32_t participant = turn::participant_in(busy);
        if (participant >= ground_.participants().count) return;  // no word of a turn
        TurnPlan plan;
        if (!read(ground_.participants()[participant], plan)) return;
        auto& own = ground_.shown();
        own.names.store(1, std::memory_order_relaxed);
        write(plan);
        // After naming. Who frees what is named has changed the turn later, and so sees the names.
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

    // Reads another's description, which may be changing: the caller looks afterwards whether the turn is still busy with it. false:
    // it is none.
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

    // Whether a turn is busy with an operation: a change of the turn by itself, so that who changes it later sees what the calling
    // thread did before, and the other way round.
    [[nodiscard]] static bool is_held(Word& word, std::uint64_t busy) noexcept {
        std::uint64_t expected = busy;
        return word.compare_exchange_strong(expected, busy, std::memory_order_acq_rel,
                                            std::memory_order_acquire);
    }

    // Carries out an operation with which the first turn was busy after this thread had named everything. false: it is off.
    bool finish(const TurnPlan& plan, std::uint64_t busy) const {
        bool is_on = true;
        bool has_all = true;  // the turns of all its lists are busy with it
        if (plan.lists[1] != 0) {
            Word& second = turn_of(plan, 1);
            std::uint64_t idle = plan.idles[1];
            has_all = second.compare_exchange_strong(idle, busy, std::memory_order_acq_rel,
                                                     std::memory_order_acquire) ||
                      (idle == busy && is_held(second, busy));
            is_on = decide(busy, has_all);
        }
        // Where it is on and the second turn is past it, others have changed all words.
        if (is_on && has_all) {
            for (std::uint64_t i = 0; i < plan.count; ++i) change(plan.words[i]);
            if (plan.lists[1] != 0) let_go(plan, 1, busy);
        }
        let_go(plan, 0, busy);
        return is_on;
    }

    // The first one who has looked at the second turn decides for all.
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

    // acq_rel and acquire: who makes the turn idle has seen every change, by itself or by others
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
