// SPDX-License-Identifier: BSD-3-Clause
// Completes or undoes the operation of a dead participant: its words name the blocks that it had
// made, was replacing and held; the sequence's words say whether these are in use. Another survivor
// may repeat each step. Included by sequence/sequence.hpp.
// Tests: tests/unit/sequence/kill_test.cpp.
#pragma once

#include "sequence/sequence.hpp"

namespace acp::sequence {

template <template <class> class Atomic>
class SequenceRecovery {
public:
    //   dead  number of the participant
    SequenceRecovery(const SequenceGround<Atomic>& ground,
                     const Reservation<Atomic>& reservation,
                     std::uint32_t dead) noexcept
        : ground_(ground),
          reservation_(reservation),
          dead_(dead),
          shown_(ground.participants()[dead]) {}

    // false: the participants that the dead one was recovering come first.
    [[nodiscard]] bool run() {
        const bool is_freed =
            table::finish_freeing(ground_.blocks(), ground_.participants(), dead_,
                                  [&](BlockNumber block) { return is_known(block); });
        end_making();
        end_destruction();
        const BlockNumber number = shown_.head.load(std::memory_order_acquire);
        if (number != 0 && is_there(number)) {
            auto& head = ground_.head(number);
            end_turn(head);
            end_hold(head);
            end_replacement(head);
        }
        // A body without the bit was never installed, so it is freed; the bodies of a destroyed
        // sequence were freed with it.
        const std::uint64_t made = shown_.made.load(std::memory_order_acquire);
        shown_.held.store(0, std::memory_order_release);
        shown_.replaced.store(0, std::memory_order_release);
        const auto forget = [&] { shown_.made.store(0, std::memory_order_release); };
        if (made != 0 && Named::unpacked(made).bit == 0) {
            ground_.unlink_and_free(Named::unpacked(made).block, forget);
        } else {
            forget();
        }
        return is_freed;
    }

private:
    [[nodiscard]] bool is_there(BlockNumber number) const noexcept {
        const std::uint64_t mark = ground_.head(number).mark.load(std::memory_order_acquire);
        return mark == SequenceHead<Atomic>::mark_of(number, SequenceKind::vector) ||
               mark == SequenceHead<Atomic>::mark_of(number, SequenceKind::deque);
    }

    // Frees a sequence whose number its maker has not stored yet.
    void end_making() {
        const std::uint64_t word = shown_.head_made.load(std::memory_order_acquire);
        const Named made = Named::unpacked(word);
        if (word == 0) return;
        if (made.bit == 0) {
            ground_.unlink_and_free(made.block,
                                    [&] { shown_.head_made.store(0, std::memory_order_release); });
            return;
        }
        ground_.head(made.block).mark.store(0, std::memory_order_release);
        shown_.made.store(0, std::memory_order_release);  // this word names the body too
        ground_.free_with_body(made.block,
                               [&] { shown_.head_made.store(0, std::memory_order_release); });
    }

    // Completes the destruction of a sequence that the participant had begun.
    void end_destruction() {
        const BlockNumber number = shown_.destroyed.load(std::memory_order_acquire);
        if (number == 0) return;
        const auto forget = [&] { shown_.destroyed.store(0, std::memory_order_release); };
        if (is_destroyed_by_dead(number)) {
            ground_.free_with_body(number, forget);
        } else {
            forget();
        }
    }

    [[nodiscard]] bool is_destroyed_by_dead(BlockNumber number) const noexcept {
        return ground_.head(number).mark.load(std::memory_order_acquire) ==
               SequenceHead<Atomic>::mark_of_destroyed(number, dead_);
    }

    // Whether one of its words leads to a block, or the head of a sequence that it has begun to
    // destroy.
    [[nodiscard]] bool is_known(BlockNumber block) const noexcept {
        if (shown_.names(block)) return true;
        const BlockNumber number = shown_.destroyed.load(std::memory_order_acquire);
        return number != 0 && is_destroyed_by_dead(number) &&
               Named::unpacked(ground_.head(number).body.load(std::memory_order_acquire)).block ==
                   block;
    }

    // Takes the sequence over from the dead participant if it holds or changes it.
    void end_turn(SequenceHead<Atomic>& head) const {
        for (ContentView view;;) {
            if (!reservation_.look(head, view)) return;
            if (view.operation.state == TurnState::idle || view.operation.participant != dead_)
                return;
            (void)reservation_.take_over(head, view, true);
        }
    }

    // Frees the body that another participant has given up to the dead one, if any.
    void end_hold(SequenceHead<Atomic>& /*head*/) {
        // After the operation word was read: the thread that changed that word has set the bit
        // before.
        const Named held = Named::unpacked(shown_.held.load(std::memory_order_acquire));
        const auto forget = [&] { shown_.held.store(0, std::memory_order_release); };
        if (held.bit != 0) {
            ground_.unlink_and_free(held.block, forget);
        } else {
            forget();
        }
    }

    // Frees the body that a change made, or the one that it replaced. The thread that moved the
    // operation word on has cleared the word of the body that is in use.
    void end_replacement(SequenceHead<Atomic>& /*head*/) {
        const Named made = Named::unpacked(shown_.made.load(std::memory_order_acquire));
        const Named replaced = Named::unpacked(shown_.replaced.load(std::memory_order_acquire));
        if (made.block != 0) {
            shown_.replaced.store(0, std::memory_order_release);
            ground_.unlink_and_free(made.block,
                                    [&] { shown_.made.store(0, std::memory_order_release); });
            return;
        }
        const auto forget = [&] { shown_.replaced.store(0, std::memory_order_release); };
        if (replaced.block != 0) {
            ground_.unlink_and_free(replaced.block, forget);
        } else {
            forget();
        }
    }

    const SequenceGround<Atomic>& ground_;
    const Reservation<Atomic>& reservation_;
    std::uint32_t dead_;
    SequenceUser<Atomic>& shown_;
};

template <template <class> class Atomic>
bool Sequence<Atomic>::recover(std::uint32_t dead) {
    auto& recoverer = ground_.participants()[dead].recoverer;
    const auto is_dead = [this](std::uint32_t other) { return ground_.others().is_dead(other); };
    if (!table::claim_recovery(recoverer, ground_.own(), is_dead)) return false;
    const bool is_done = SequenceRecovery<Atomic>(ground_, reservation_, dead).run();
    recoverer.store(0, std::memory_order_release);
    return is_done;
}

}  // namespace acp::sequence
