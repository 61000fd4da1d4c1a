// SPDX-License-Identifier: BSD-3-Clause
// The right to change a sequence, and its recovery from a participant that is stopped or dead. A
// participant holds a sequence while it writes into the body outside of the committed content; it
// commits by one compare-and-swap of the operation word. A replacement of the body is decided by a
// compare-and-swap of the body word; any participant then moves the operation word on. The body's
// number grows by one with each replacement, so a late compare-and-swap fails.
//
// How another participant takes a sequence over:
// - held by a dead participant: it makes the operation word idle again, because nothing was
//   committed;
// - held by a stopped one: that one may still write into the body, so the body is given up to it,
//   and a copy of the content is installed; if the stopped one resumes before that, it installs its
//   own body again, with its change;
// - being changed: it installs the old body again under its next number, so the late installation
//   of a new body fails.
// Tests: tests/unit/sequence/kill_test.cpp, concurrency_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "sequence/ground.hpp"

namespace acp::sequence {

template <template <class> class Atomic>
class Reservation {
public:
    explicit Reservation(const SequenceGround<Atomic>& ground) noexcept : ground_(ground) {}

    // Reads the committed state, whether or not a participant holds the sequence; completes a body
    // replacement first. false: the words contradict each other, and a second read finds the same
    // ones though finish() ran in between: the program has overwritten them.
    [[nodiscard]] bool look(SequenceHead<Atomic>& head, ContentView& view) const noexcept {
        for (bool is_first = true;; is_first = false) {
            const ContentView before = view;
            if (ground_.read(head, view) && ground_.is_possible(view)) return true;
            // Every operation changes one of the two words: both were in place at one moment.
            if (!is_first && view.operation_word == before.operation_word &&
                view.body_word == before.body_word) {
                return false;
            }
            finish(head, view.operation, view.body_word);
        }
    }

    // From now on wait_until_idle() takes no sequence over from a living participant, which may cost
    // a copy of the content, but returns busy.
    void spare_the_living(bool is_wanted) noexcept { spares_the_living_ = is_wanted; }

    // Waits until no participant holds the sequence; takes it over when the holder is dead or
    // Others::may_wait() returns false. done; held, busy, damaged: nothing has changed.
    [[nodiscard]] SequenceEffect wait_until_idle(SequenceHead<Atomic>& head,
                                                 ContentView& view) const {
        std::uint64_t turns = 0;
        for (std::uint64_t last = 0;; last = view.operation_word) {
            if (!look(head, view)) return SequenceEffect::damaged;
            if (view.operation.state == TurnState::idle) return SequenceEffect::done;
            turns = view.operation_word == last ? turns + 1 : 0;
            const bool is_dead = ground_.others().is_dead(view.operation.participant);
            const bool is_evicting = view.operation.state == TurnState::evicting;
            if (!is_dead && !is_evicting && ground_.others().may_wait(turns, view.capacity))
                continue;
            if (!is_dead && spares_the_living_) return SequenceEffect::busy;
            if (!take_over(head, view, is_dead)) return SequenceEffect::held;
        }
    }

    // Takes an idle sequence to write into its body. false: it has changed since `view`.
    [[nodiscard]] bool hold(SequenceHead<Atomic>& head, ContentView& view) const noexcept {
        auto& held = ground_.shown().held;
        // release: before other participants can find us as the holder
        held.store(held_word(view), std::memory_order_release);
        if (enter(head, view, TurnState::held)) return true;
        held.store(0, std::memory_order_release);
        return false;
    }

    // Commits the holder's writes, and ends its hold. false: another participant has taken the
    // sequence over, and nothing was committed.
    //   which  the Extent to commit; that of the view: the content is unchanged
    [[nodiscard]] bool release(SequenceHead<Atomic>& head,
                               const ContentView& view,
                               std::uint32_t which) const {
        auto& held = ground_.shown().held;
        const OperationWord now = which == view.operation.which
                                      ? view.operation.as(TurnState::idle, 0)
                                      : view.operation.after(which);
        std::uint64_t expected = view.operation.packed();
        // release: the bytes and the Extent; partner: SequenceGround::read
        if (head.operation.compare_exchange_strong(
                expected, now.packed(), std::memory_order_acq_rel, std::memory_order_acquire)) {
            held.store(0, std::memory_order_release);
            return true;
        }
        const OperationWord evicted = view.operation.as(TurnState::evicting, ground_.own());
        const bool is_kept = install(head, view, evicted, view.body.next(view.body.block, which));
        const auto forget = [&] { held.store(0, std::memory_order_release); };
        if (is_kept) {
            forget();
        } else {
            ground_.unlink_and_free(view.body.block, forget);
        }
        return is_kept;
    }

    // Takes an idle sequence to replace its body. false: it has changed since `view`.
    [[nodiscard]] bool begin_change(SequenceHead<Atomic>& head, ContentView& view) const noexcept {
        return enter(head, view, TurnState::changing);
    }

    // Replaces the view's body, and ends the change. false: another participant has replaced that
    // body before.
    bool install(SequenceHead<Atomic>& head,
                 const ContentView& view,
                 const OperationWord& operation,
                 const Named& body) const noexcept {
        std::uint64_t in_use = view.body_word;
        // acq_rel: the new body's content for readers; partner: SequenceGround::read
        const bool is_done = head.body.compare_exchange_strong(
            in_use, body.packed(), std::memory_order_acq_rel, std::memory_order_acquire);
        finish(head, operation, is_done ? body.packed() : in_use);
        return is_done;
    }

    // Keeps the content, so that a stopped participant's late installation of a body fails.
    void keep_body(SequenceHead<Atomic>& head, const ContentView& view) const noexcept {
        (void)install(head, view, view.operation,
                      view.body.next(view.body.block, view.operation.which));
    }

    // Does one step of taking the sequence over from a participant that is stopped or dead; the
    // caller reads it again. false: there was no memory, and the other participant lives.
    [[nodiscard]] bool take_over(SequenceHead<Atomic>& head,
                                 const ContentView& view,
                                 bool is_dead) const {
        if (view.operation.state == TurnState::held) {
            const OperationWord next =
                is_dead ? view.operation.as(TurnState::idle, 0)
                        : view.operation.as(TurnState::evicting, view.operation.participant);
            std::uint64_t expected = view.operation_word;
            (void)head.operation.compare_exchange_strong(
                expected, next.packed(), std::memory_order_acq_rel, std::memory_order_relaxed);
            return true;
        }
        if (view.operation.state == TurnState::evicting && !is_dead)
            return install_copy(head, view);
        // The words of a view may be inconsistent: a body installed after the operation word was
        // read is not the old one.
        if (ground_.is_current(head, view)) keep_body(head, view);
        return true;
    }

    // Makes a body that is not in use yet; 0: there is no room.
    [[nodiscard]] BlockNumber make_body(std::uint64_t capacity) const {
        auto& place = ground_.shown().made;
        const BlockNumber block = ground_.blocks().allocate(
            place, Body<Atomic>::block_bytes(capacity), heap::granule_bytes);
        if (block == 0) return 0;
        auto& made = ground_.body(block);
        made.capacity.store(capacity, std::memory_order_relaxed);
        made.maker.store(ground_.own(), std::memory_order_relaxed);
        made.extents[1].first.store(0, std::memory_order_relaxed);
        return block;
    }

    // Publishes that the made body may be installed with this word.
    void show_made(const Named& body) const noexcept {
        ground_.shown().made.store(Named{1, body.block, body.number}.packed(),
                                   std::memory_order_release);
    }

    // Frees a body that was made and not installed.
    void drop_made(BlockNumber body) const {
        ground_.unlink_and_free(body,
                                [&] { ground_.shown().made.store(0, std::memory_order_release); });
    }

private:
    [[nodiscard]] static std::uint64_t held_word(const ContentView& view) noexcept {
        return Named{0, view.body.block, view.operation.sequence}.packed();
    }

    [[nodiscard]] bool enter(SequenceHead<Atomic>& head,
                             ContentView& view,
                             TurnState state) const noexcept {
        const OperationWord entered = view.operation.as(state, ground_.own());
        std::uint64_t expected = view.operation_word;
        // acquire: all that was committed, and all reads by other threads of bytes that will be
        // overwritten (SequenceGround::is_current)
        if (!head.operation.compare_exchange_strong(
                expected, entered.packed(), std::memory_order_acq_rel, std::memory_order_acquire)) {
            return false;
        }
        view.operation = entered;
        view.operation_word = entered.packed();
        return true;
    }

    // Moves the operation word on after a body was installed. Before that it clears the maker's
    // word `made`, since the body is in use, and marks an evicted holder's body as given up; so
    // neither body is freed wrongly if a participant dies. Any number of participants may do this,
    // also late.
    void finish(SequenceHead<Atomic>& head,
                const OperationWord& operation,
                std::uint64_t body_word) const noexcept {
        const Named body = Named::unpacked(body_word);
        const auto mask = (1U << OperationWord::generation_bits) - 1;
        if (!operation.is_replacing() || body.generation() != ((operation.generation + 1) & mask) ||
            !ground_.has_body(body.block) ||
            operation.participant >= ground_.participants().count) {
            return;
        }
        // A late caller may read a maker from a body that was freed and reused: then no
        // participant's word matches.
        const std::uint64_t maker = ground_.body(body.block).maker.load(std::memory_order_relaxed);
        if (maker < ground_.participants().count) {
            std::uint64_t made = Named{1, body.block, body.number}.packed();
            (void)ground_.participants()[static_cast<std::uint32_t>(maker)]
                .made.compare_exchange_strong(made, 0, std::memory_order_acq_rel,
                                              std::memory_order_relaxed);
        }
        if (operation.state == TurnState::evicting) give_up_body(operation, body.block);
        OperationWord next = operation.after(body.bit);
        next.generation = body.generation();
        std::uint64_t expected = operation.packed();
        (void)head.operation.compare_exchange_strong(
            expected, next.packed(), std::memory_order_acq_rel, std::memory_order_relaxed);
    }

    // Marks an evicted participant's body as given up to it, unless that body is in use again.
    void give_up_body(const OperationWord& evicted, BlockNumber in_use) const noexcept {
        auto& held = ground_.participants()[evicted.participant].held;
        std::uint64_t word = held.load(std::memory_order_acquire);
        Named body = Named::unpacked(word);
        if (word == 0 || body.bit != 0 || body.block == in_use ||
            body.number != (evicted.sequence & Named::number_mask)) {
            return;
        }
        body.bit = 1;
        (void)held.compare_exchange_strong(word, body.packed(), std::memory_order_acq_rel,
                                           std::memory_order_relaxed);
    }

    // Replaces a body into which a stopped participant may still write by a copy of the content.
    [[nodiscard]] bool install_copy(SequenceHead<Atomic>& head, const ContentView& view) const {
        if (!ground_.is_current(head, view)) return true;
        const BlockNumber copy = make_body(view.capacity);
        if (copy == 0) return false;
        auto& made = ground_.body(copy);
        ground_.ring(view).read(0, made.content(), view.bytes);
        made.extents[0].first.store(0, std::memory_order_relaxed);
        made.extents[0].bytes.store(view.bytes, std::memory_order_relaxed);
        const Named body = view.body.next(copy, 0);
        show_made(body);
        if (!install(head, view, view.operation, body)) drop_made(copy);
        return true;
    }

    const SequenceGround<Atomic>& ground_;
    bool spares_the_living_ = false;
};

}  // namespace acp::sequence
