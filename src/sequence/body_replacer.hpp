// SPDX-License-Identifier: BSD-3-Clause
// Replaces the body of a sequence by one that a participant has made in pieces, so that no call
// copies many bytes: the pieces are copied from the content of one version, and the new body is
// installed only if the content still has that version. One thread; a part of Sequence.
// Tests: tests/unit/allocator/sequence_operations_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "sequence/ground.hpp"
#include "sequence/requests.hpp"
#include "sequence/reservation.hpp"

namespace acp::sequence {

template <template <class> class Atomic>
class BodyReplacer {
public:
    //   both outlive this
    BodyReplacer(const SequenceGround<Atomic>& ground,
                 const Reservation<Atomic>& reservation) noexcept
        : ground_(ground), reservation_(reservation) {}

    // Copies bytes of the content of a version. done, changed, damaged, outside
    [[nodiscard]] SequenceEffect copy(BlockNumber number,
                                      std::uint64_t version,
                                      std::uint64_t index,
                                      char* target,
                                      std::uint64_t bytes) const noexcept {
        auto& head = ground_.head(number);
        ContentView view;
        do {
            if (!reservation_.look(head, view)) return SequenceEffect::damaged;
        } while (!ground_.is_current(head, view));
        if (view.operation.sequence != version) return SequenceEffect::changed;
        if (index > view.bytes || bytes > view.bytes - index) return SequenceEffect::outside;
        ground_.ring(view).read(index, target, bytes);
        return ground_.is_current(head, view) ? SequenceEffect::done : SequenceEffect::changed;
    }

    // Makes a block the body of a sequence, if the content is still of the version, and frees the
    // old body. For a participant that is not killed alone: until the end of the call nothing leads
    // recovery to the block. done, changed, held, damaged
    SequenceEffect adopt(BlockNumber number, const NewBody& made) {
        ground_.shown().head.store(number, std::memory_order_relaxed);
        auto& head = ground_.head(number);
        for (ContentView view;;) {
            const SequenceEffect turn = reservation_.wait_until_idle(head, view);
            if (turn != SequenceEffect::done) return turn;
            if (view.operation.sequence != made.version) {
                if (ground_.is_current(head, view)) return SequenceEffect::changed;
                continue;
            }
            if (!reservation_.begin_change(head, view)) continue;
            auto& body = ground_.body(made.block);
            body.capacity.store(made.capacity, std::memory_order_relaxed);
            body.maker.store(ground_.own(), std::memory_order_relaxed);
            body.extents[0].first.store(0, std::memory_order_relaxed);
            body.extents[0].bytes.store(made.bytes, std::memory_order_relaxed);
            body.extents[1].first.store(0, std::memory_order_relaxed);
            if (!reservation_.install(head, view, view.operation, view.body.next(made.block, 0)))
                continue;
            ground_.unlink_and_free(view.body.block, [] {});
            return SequenceEffect::done;
        }
    }

private:
    const SequenceGround<Atomic>& ground_;
    const Reservation<Atomic>& reservation_;
};

}  // namespace acp::sequence
