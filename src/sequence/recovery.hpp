// SPDX-License-Identifier: BSD-3-Clause
// Ends what a dead participant was doing: its words say what it had made, what it was replacing and what it held; the sequence's words
// say whether that is in use. Each step may be done again by another survivor. Included by sequence/sequence.hpp.
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

    // false: those that the dead one was recovering come first.
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
        // A body that was not filled is in use nowhere; of a sequence that was destroyed nothing is known.
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

    // A sequence of which its maker has not told anybody.
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
        shown_.made.store(0, std::memory_order_release);  // which names the body too
        ground_.free_with_body(made.block,
                               [&] { shown_.head_made.store(0, std::memory_order_release); });
    }

    // A sequence that it has begun to destroy.
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

    // Whether its words lead to a block, or the head of a sequence that it has begun to destroy does.
    [[nodiscard]] bool is_known(BlockNumber block) const noexcept {
        if (shown_.names(block)) return true;
        const BlockNumber number = shown_.destroyed.load(std::memory_order_acquire);
        return number != 0 && is_destroyed_by_dead(number) &&
               Named::unpacked(ground_.head(number).body.load(std::memory_order_acquire)).block ==
                   block;
    }

    // Takes the sequence from the dead one, where it holds or changes it.
    void end_turn(SequenceHead<Atomic>& head) const {
        for (;;) {
            const ContentView view = reservation_.look(head);
            if (view.operation.state == TurnState::idle || view.operation.participant != dead_)
                return;
            (void)reservation_.take_over(head, view, true);
        }
    }

    // Frees the body that was given up to the dead one, if any.
    void end_hold(SequenceHead<Atomic>& /*head*/) {
        // After the operation word: whoever moved it on has set the bit before.
        const Named held = Named::unpacked(shown_.held.load(std::memory_order_acquire));
        const auto forget = [&] { shown_.held.store(0, std::memory_order_release); };
        if (held.bit != 0) {
            ground_.unlink_and_free(held.block, forget);
        } else {
            forget();
        }
    }

    // Frees what a change made or replaced. Whoever moved the operation word on has taken back the word of what is in use.
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
    auto& claim = ground_.participants()[dead].recoverer;
    std::uint64_t recoverer = claim.load(std::memory_order_acquire);
    if (recoverer != 0 && !ground_.others().is_dead(static_cast<std::uint32_t>(recoverer - 1)))
        return false;
    if (!claim.compare_exchange_strong(recoverer, ground_.own() + 1, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
        return false;
    }
    const bool is_done = SequenceRecovery<Atomic>(ground_, reservation_, dead).run();
    claim.store(0, std::memory_order_release);
    return is_done;
}

}  // namespace acp::sequence
