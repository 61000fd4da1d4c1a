// SPDX-License-Identifier: BSD-3-Clause
// A fair lock in shared memory whose holder and waiters may die or stop at any instruction: a word
// with holder and queue, and a ring of places, one for each waiter in the order of their tickets.
// Each step is one compare-and-swap on the word or on one place, and every process that finds a
// step unfinished completes it, so no process waits for another one inside a call. Knows neither
// how a waiter sleeps nor who is dead: is_gone(process) answers that, and never changes from true
// to false. A release, or the recovery from a dead holder, returns the waiter that holds the lock
// now, and the caller notifies it. Any thread of any process that has the lock mapped. Zeros are no
// lock. Reasons: ADR 0041.
//
// A waiter's place goes
//   waiting -> granted     by the releasing holder, or by a process that found the holder dead
//   waiting -> cancelled   by the waiter, after a timeout
//   cancelled, or waiting with a dead waiter -> waiting   by a new waiter that takes the place over,
//                          with a number of its own
//   waiting, cancelled -> skipped   when the place is first in the queue, and its waiter dead or gone
// A place that is granted or skipped no longer changes until its ticket is below the queue's head.
// Tests: tests/unit/sync/queued_lock_test.cpp and far_waiter_test.cpp, under the seeded scheduler, with
// kills and stops.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/lock_words.hpp"

namespace acp::sync {

template <template <class> class Atomic = std::atomic>
class QueuedLock {
public:
    //   places  `count` of them, a power of two of at least 4, at most lock_places_max
    QueuedLock(LockHead<Atomic>& head, LockPlace<Atomic>* places, std::uint32_t count) noexcept
        : state_(head.state), places_(places), count_(count) {}

    // Makes the lock free, for its maker.   places  zero
    void make() noexcept {
        // No place has the ticket `count`, so all places are free.
        state_.store(LockState{0, 0, 0, count_, 0}.word(), std::memory_order_release);
    }

    // take() of a lock that no thread holds, and release() of one for which none waits; false: the
    // other cases, and nothing has changed. Read no place.
    [[nodiscard]] static bool take_if_free(LockHead<Atomic>& head, const LockParty& me) noexcept {
        std::uint64_t word = head.state.load(std::memory_order_relaxed);
        const LockState state(word);
        // acquire: see take()
        return !state.is_held() && head.state.compare_exchange_strong(
                                       word, state.held_by(me, false).word(),
                                       std::memory_order_seq_cst, std::memory_order_relaxed);
    }

    [[nodiscard]] static bool release_if_alone(LockHead<Atomic>& head,
                                               const LockParty& me) noexcept {
        std::uint64_t word = head.state.load(std::memory_order_relaxed);
        const LockState state(word);
        return state.waiters == 0 && state.process_plus_1 == me.process + 1 &&
               state.thread == me.thread &&
               head.state.compare_exchange_strong(word, LockState(0, 0, 0, state.head, 0).word(),
                                                  std::memory_order_seq_cst,
                                                  std::memory_order_relaxed);
    }

    // Takes the lock: taken, taken_from_dead, held, queued, own, full, freed or again.
    //   may_wait  whether the caller waits if another thread holds the lock
    template <typename IsGone>
    [[nodiscard]] LockAnswer take(const LockParty& me,
                                  bool may_wait,
                                  const LockNotice& notice,
                                  const IsGone& is_gone) noexcept {
        LockAnswer answer;
        for (std::uint32_t i = 0; i < steps_max; ++i) {
            // acquire: the holder before has released; partner: its store in pass_on()
            std::uint64_t word = state_.load(std::memory_order_acquire);
            const LockState state(word);
            answer.holder = state.holder();
            if (state.is_freed()) return told(answer, LockOutcome::freed);
            const bool is_orphaned = state.is_held() && is_gone(state.holder());
            if (!state.is_held() || (is_orphaned && state.waiters == 0)) {
                if (change(word, state.held_by(me, is_orphaned)))
                    return told(answer, taken_if(is_orphaned));
                continue;
            }
            if (state.holder() == me.process && state.thread == me.thread &&
                me.thread != lock_thread_shared) {
                return told(answer, LockOutcome::own);
            }
            if (!may_wait) {
                if (is_orphaned) recover(answer.grant, is_gone);
                return told(answer, LockOutcome::held);
            }
            if (!enter(state, me, notice, is_gone, answer)) continue;
            return answer.outcome == LockOutcome::full ? answer : count_in(me, answer, is_gone);
        }
        return answer;
    }

    // What became of a waiter: taken, taken_from_dead, or queued. Completes the steps of dead
    // threads: answer.grant names a waiter, perhaps another one, that got the lock thereby.
    template <typename IsGone>
    [[nodiscard]] LockAnswer poll(const LockParty& me,
                                  std::uint32_t ticket,
                                  const IsGone& is_gone) noexcept {
        LockAnswer answer;
        answer.ticket = ticket;
        for (std::uint32_t i = 0; i < steps_max; ++i) {
            // seq_cst: after the caller has announced its sleep; partner: the change of the state
            // by a process that notifies, or that dies afterwards
            const LockState state(state_.load(std::memory_order_seq_cst));
            answer.holder = state.holder();
            if (state.is_freed()) return told(answer, LockOutcome::freed);
            if (is_below(ticket, state.head)) {
                return told(answer, state.holder() == me.process ? taken_if(state.died != 0)
                                                                 : LockOutcome::freed);
            }
            const LockWaiter first(place_of(state.head).waiter.load(std::memory_order_seq_cst));
            const bool is_dead = state.is_held() && is_gone(state.holder());
            if (state.waiters != 0 && (is_dead || is_granted_now(first, state))) {
                (void)step(state, answer.grant, is_gone);
                continue;
            }
            return told(answer, LockOutcome::queued);
        }
        return told(answer, LockOutcome::queued);
    }

    // The waiter waits no longer: left, or taken or taken_from_dead if it got the lock before.
    template <typename IsGone>
    [[nodiscard]] LockAnswer leave(const LockParty& me,
                                   std::uint32_t ticket,
                                   const IsGone& is_gone) noexcept {
        std::uint64_t word = LockWaiter{ticket, me, LockWaiterState::waiting}.word();
        if (place_of(ticket).waiter.compare_exchange_strong(
                word, LockWaiter{ticket, me, LockWaiterState::cancelled}.word(),
                std::memory_order_seq_cst, std::memory_order_relaxed)) {
            LockAnswer answer;
            return told(answer, LockOutcome::left);
        }
        return poll(me, ticket, is_gone);
    }

    // Whether the calling thread holds the lock.
    [[nodiscard]] static bool is_held_by(const LockHead<Atomic>& head,
                                         const LockParty& me) noexcept {
        // relaxed: as in release()
        return is_of(LockState(head.state.load(std::memory_order_relaxed)), me);
    }

    // Releases the lock: released, not_holder, freed or again. The next waiter, if any, holds it
    // then. With not_holder no place of the queue is the calling thread's.
    //   publish  called once the calling thread is known to hold the lock, before another one gets it
    template <typename IsGone, typename Publish>
    [[nodiscard]] LockAnswer release(const LockParty& me,
                                     const IsGone& is_gone,
                                     const Publish& publish) noexcept {
        LockAnswer answer;
        for (std::uint32_t i = 0; i < steps_max; ++i) {
            // relaxed: the calling thread has stored or acquired the word that names it
            const LockState state(state_.load(std::memory_order_relaxed));
            answer.holder = state.holder();
            if (state.is_freed()) return told(answer, LockOutcome::freed);
            if (is_of(state, me)) {
                publish();
                return pass_on(answer, is_gone);
            }
            if (!withdraw(state, me, is_gone)) return told(answer, LockOutcome::not_holder);
        }
        return answer;
    }

    template <typename IsGone>
    [[nodiscard]] LockAnswer release(const LockParty& me, const IsGone& is_gone) noexcept {
        return release(me, is_gone, [] {});
    }

    // Ends the lock, so that each later call answers freed. False: it is held, or a thread waits
    // for it; a dead holder without waiters does not count.   holder  then the process
    template <typename IsGone>
    [[nodiscard]] bool retire(std::uint32_t& holder, const IsGone& is_gone) noexcept {
        std::uint64_t word = state_.load(std::memory_order_acquire);
        const LockState state(word);
        holder = state.holder();
        const bool is_free = !state.is_held() || is_gone(state.holder());
        return is_free && state.waiters == 0 && change(word, LockState::freed());
    }

    // Returns the process that holds the lock; LockGrant::no_process if the lock is free.
    [[nodiscard]] std::uint32_t holder() const noexcept {
        return LockState(state_.load(std::memory_order_relaxed)).holder();
    }

private:
    // The most turns of a loop in one call. Each turn completes a step of the lock.
    static constexpr std::uint32_t steps_max = 256;
    static constexpr std::uint32_t ticket_mask = lock_ticket_mask;

    [[nodiscard]] static LockAnswer told(LockAnswer& answer, LockOutcome outcome) noexcept {
        answer.outcome = outcome;
        return answer;
    }

    // Threads that share a number pass for each other.
    [[nodiscard]] static bool is_of(const LockState& state, const LockParty& me) noexcept {
        const bool is_of_other = state.thread != me.thread && state.thread != lock_thread_shared &&
                                 me.thread != lock_thread_shared;
        return state.holder() == me.process && !is_of_other;
    }

    [[nodiscard]] static LockOutcome taken_if(bool has_died) noexcept {
        return has_died ? LockOutcome::taken_from_dead : LockOutcome::taken;
    }

    // Tickets wrap.
    [[nodiscard]] static bool is_below(std::uint32_t ticket, std::uint32_t head) noexcept {
        const std::uint32_t distance = (head - ticket) & ticket_mask;
        return distance != 0 && distance <= ticket_mask / 2;
    }

    [[nodiscard]] static bool is_granted_now(const LockWaiter& first,
                                             const LockState& state) noexcept {
        return first.ticket == state.head && first.state == LockWaiterState::granted;
    }

    [[nodiscard]] LockPlace<Atomic>& place_of(std::uint32_t ticket) const noexcept {
        return places_[ticket & (count_ - 1)];
    }

    // seq_cst, both: before the look for dead processes that follows, and before the bell; partners:
    // poll(), and the death of a process. It also has release, for the data that the lock guards,
    // and acquire.
    [[nodiscard]] bool change(std::uint64_t& from, const LockState& into) noexcept {
        return state_.compare_exchange_strong(from, into.word(), std::memory_order_seq_cst,
                                              std::memory_order_acquire);
    }

    [[nodiscard]] static bool change(LockPlace<Atomic>& place,
                                     const LockWaiter& from,
                                     const LockWaiter& into) noexcept {
        std::uint64_t word = from.word();
        return place.waiter.compare_exchange_strong(word, into.word(), std::memory_order_seq_cst,
                                                    std::memory_order_relaxed);
    }

    // Takes a place behind all waiters. False: others were faster. With answer.outcome == full
    // there is none. With again the place's waiter is not counted yet; with queued it is.
    template <typename IsGone>
    [[nodiscard]] bool enter(const LockState& state,
                             const LockParty& me,
                             const LockNotice& notice,
                             const IsGone& is_gone,
                             LockAnswer& answer) noexcept {
        const auto take_over_from_end = [&](std::uint32_t i) {
            return take_over((state.tail() - i) & ticket_mask, me, notice, is_gone, answer);
        };
        // The last waiter may have left or died: its place is as good.
        if (state.waiters != 0 && take_over_from_end(1)) return true;
        if (state.waiters >= count_ - 1) {
            for (std::uint32_t i = 2; i <= state.waiters && i <= steps_max; ++i) {
                if (take_over_from_end(i)) return true;
            }
            answer.outcome = LockOutcome::full;
            return true;
        }
        const std::uint32_t ticket = state.tail();
        LockPlace<Atomic>& place = place_of(ticket);
        const LockWaiter before(place.waiter.load(std::memory_order_acquire));
        if (before.ticket == ticket) {
            // Its waiter has not counted itself yet.
            std::uint64_t word = state.word();
            LockState counted = state;
            ++counted.waiters;
            (void)change(word, counted);
            return false;
        }
        answer.ticket = ticket;
        tell(place, notice);
        return change(place, before, LockWaiter(ticket, me, LockWaiterState::waiting));
    }

    // Takes the place of a waiter that has left or died.
    template <typename IsGone>
    [[nodiscard]] bool take_over(std::uint32_t ticket,
                                 const LockParty& me,
                                 const LockNotice& notice,
                                 const IsGone& is_gone,
                                 LockAnswer& answer) noexcept {
        LockPlace<Atomic>& place = place_of(ticket);
        const LockWaiter before(place.waiter.load(std::memory_order_acquire));
        const bool is_left =
            before.state == LockWaiterState::cancelled ||
            (before.state == LockWaiterState::waiting && is_gone(before.party.process));
        if (before.ticket != ticket || !is_left) return false;
        tell(place, notice);
        if (!change(place, before, LockWaiter(ticket, me, LockWaiterState::waiting))) return false;
        answer.ticket = ticket;
        answer.outcome = LockOutcome::queued;
        return true;
    }

    // Cancels each place in which the calling thread waits, of a wait that it does not know of: a
    // thread that waits makes no call. True: one of them was granted, so the thread may hold the
    // lock now.
    template <typename IsGone>
    [[nodiscard]] bool withdraw(const LockState& state,
                                const LockParty& me,
                                const IsGone& is_gone) noexcept {
        if (me.thread == lock_thread_shared) return false;
        for (std::uint32_t i = 0; i <= state.waiters; ++i) {  // the last one may not be counted yet
            const std::uint32_t ticket = (state.head + i) & ticket_mask;
            LockPlace<Atomic>& place = place_of(ticket);
            const LockWaiter waiter(place.waiter.load(std::memory_order_acquire));
            if (waiter.ticket != ticket || waiter.party.process != me.process ||
                waiter.party.thread != me.thread) {
                continue;
            }
            const bool is_waiting = waiter.state == LockWaiterState::waiting;
            if (is_waiting &&
                change(place, waiter,
                       LockWaiter(ticket, waiter.party, LockWaiterState::cancelled))) {
                continue;
            }
            if (is_waiting || waiter.state == LockWaiterState::granted) {
                LockGrant to_me;
                finish(ticket, to_me, is_gone);
                return true;
            }
        }
        return false;
    }

    static void tell(LockPlace<Atomic>& place, const LockNotice& notice) noexcept {
        if (notice.grant_word == 0) return;
        // relaxed, both: visible with the waiter; partner: step()
        place.grant_word.store(notice.grant_word, std::memory_order_relaxed);
        place.grant_number.store(notice.number, std::memory_order_relaxed);
    }

    // Counts the caller as a waiter, unless a later waiter has counted it. Takes the lock instead if
    // the holder has released it.
    template <typename IsGone>
    [[nodiscard]] LockAnswer count_in(const LockParty& me,
                                      LockAnswer& answer,
                                      const IsGone& is_gone) noexcept {
        for (;;) {  // each turn another thread has changed the state: at most one for each process
            std::uint64_t word = state_.load(std::memory_order_acquire);
            const LockState state(word);
            if (state.is_freed() || state.tail() != answer.ticket ||
                answer.outcome == LockOutcome::queued) {
                break;
            }
            if (!state.is_held()) {
                LockState taken = state.held_by(me, false);
                taken.head = (taken.head + 1) & ticket_mask;
                if (change(word, taken)) return told(answer, LockOutcome::taken);
                continue;
            }
            LockState counted = state;
            ++counted.waiters;
            if (change(word, counted)) break;
        }
        return poll(me, answer.ticket, is_gone);
    }

    // One step towards the grant to the first waiter, which exists. True: it holds the lock now.
    //   grant  set when the step grants the place or hands the lock over. Two threads may do one
    //          each, so a waiter may be notified twice, and late (sync/grant_word.hpp)
    template <typename IsGone>
    [[nodiscard]] bool step(const LockState& state,
                            LockGrant& grant,
                            const IsGone& is_gone) noexcept {
        LockPlace<Atomic>& place = place_of(state.head);
        const LockWaiter first(place.waiter.load(std::memory_order_acquire));
        if (first.ticket != state.head) return false;  // the state is an old one
        // Before the grant, after which a new waiter may take the place.
        const LockNotice notice{place.grant_word.load(std::memory_order_acquire),
                                place.grant_number.load(std::memory_order_acquire)};
        const bool has_died = is_gone(state.holder());
        const LockGrant granted{first.party.process, first.party.serial, has_died ? 1U : 0U,
                                notice};
        const auto becomes = [&](LockWaiterState into) {
            return change(place, first, LockWaiter(first.ticket, first.party, into));
        };
        switch (first.state) {
            case LockWaiterState::waiting:
                if (is_gone(first.party.process)) {
                    (void)becomes(LockWaiterState::skipped);
                } else if (becomes(LockWaiterState::granted)) {
                    grant = granted;
                }
                return false;
            case LockWaiterState::cancelled:
                (void)becomes(LockWaiterState::skipped);
                return false;
            case LockWaiterState::skipped: {
                std::uint64_t word = state.word();
                (void)change(word, state.advanced());
                return false;
            }
            case LockWaiterState::granted:
                break;
        }
        std::uint64_t word = state.word();
        if (!change(word, state.advanced().held_by(first.party, has_died))) return false;
        grant = granted;
        return true;
    }

    // The holder's release.
    template <typename IsGone>
    [[nodiscard]] LockAnswer pass_on(LockAnswer& answer, const IsGone& is_gone) noexcept {
        for (std::uint32_t i = 0; i < steps_max; ++i) {
            std::uint64_t word = state_.load(std::memory_order_acquire);
            const LockState state(word);
            if (state.waiters == 0) {
                if (change(word, LockState(0, 0, 0, state.head, 0)))
                    return told(answer, LockOutcome::released);
                continue;
            }
            (void)step(state, answer.grant, is_gone);
            if (answer.grant.process == LockGrant::no_process) continue;
            // From the grant of the place on another thread may complete the rest.
            finish(state.head, answer.grant, is_gone);
            recover(answer.grant, is_gone);
            return told(answer, LockOutcome::released);
        }
        return answer;
    }

    // Completes the grant of a place. The waiter does so itself if other threads change the lock too
    // often.
    template <typename IsGone>
    void finish(std::uint32_t ticket, LockGrant& grant, const IsGone& is_gone) noexcept {
        for (std::uint32_t i = 0; i < steps_max; ++i) {
            const LockState state(state_.load(std::memory_order_acquire));
            if (state.head != ticket || step(state, grant, is_gone)) return;
        }
    }

    // Gives the lock of a dead holder to the first waiter that lives. Does nothing if no process
    // waits: then the next one that takes the lock finds the dead holder.
    template <typename IsGone>
    void recover(LockGrant& grant, const IsGone& is_gone) noexcept {
        for (std::uint32_t i = 0; i < steps_max; ++i) {
            // seq_cst: after the grant to a process that may have died before; partner: its death
            const LockState state(state_.load(std::memory_order_seq_cst));
            if (!state.is_held() || state.is_freed() || state.waiters == 0 ||
                !is_gone(state.holder())) {
                break;
            }
            (void)step(state, grant, is_gone);
        }
    }

    Atomic<std::uint64_t>& state_;
    LockPlace<Atomic>* places_;
    std::uint32_t count_;
};

}  // namespace acp::sync
