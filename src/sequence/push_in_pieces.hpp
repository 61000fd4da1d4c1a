// SPDX-License-Identifier: BSD-3-Clause
// A push of many bytes in several calls, of which each copies few: they write into the room beside
// the content, which no reader looks at, and the last one commits all bytes in one step. No
// participant holds the sequence between two calls. The Extent that is not committed names the push that writes there,
// and counts its bytes; any other change of the sequence ends the push, which begins anew. One
// thread; a part of Sequence.
// Tests: tests/unit/sequence/sequence_test.cpp, concurrency_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "sequence/ground.hpp"
#include "sequence/requests.hpp"
#include "sequence/reservation.hpp"

namespace acp::sequence {

template <template <class> class Atomic>
class PushInPieces {
public:
    //   both outlive this
    PushInPieces(const SequenceGround<Atomic>& ground,
                 const Reservation<Atomic>& reservation) noexcept
        : ground_(ground), reservation_(reservation) {}

    // Writes a piece. The one at 0 begins the push and comes first; the others may come in any
    // order. `portion` returns how many bytes of the push are written, and where it begins: they are
    // in the content once they are all. done, held, damaged; changed (the push has to begin anew);
    // busy (another push has begun, and the piece does not replace it; or see Sequence::bound())
    SequenceEffect write(BlockNumber number, const PushPiece& piece, Portion& portion) {
        ground_.shown().head.store(number, std::memory_order_relaxed);
        auto& head = ground_.head(number);
        for (ContentView view;;) {
            const SequenceEffect turn = reservation_.wait_until_idle(head, view);
            if (turn != SequenceEffect::done) return turn;
            if (view.operation.sequence != piece.version ||
                piece.total > view.capacity - view.bytes) {
                if (ground_.is_current(head, view)) return SequenceEffect::changed;
                continue;
            }
            if (!reservation_.hold(head, view)) continue;
            const SequenceEffect effect = enter(view, piece, portion.bytes);
            std::uint32_t which = view.operation.which;
            if (effect == SequenceEffect::done) which = put(view, piece, portion.bytes);
            if (!reservation_.release(head, view, which)) continue;
            portion.there = piece.end == ContentEnd::back ? view.bytes : 0;
            return effect;
        }
    }

private:
    // The first word of an Extent that no content begins with.
    static constexpr std::uint64_t begun = std::uint64_t{1} << 63;

    [[nodiscard]] Extent<Atomic>& spare(const ContentView& view) const noexcept {
        return ground_.body(view.body.block).extents[1 - view.operation.which];
    }

    // Whether the piece may be written.   written  bytes of the push that were written before
    [[nodiscard]] SequenceEffect enter(const ContentView& view,
                                       const PushPiece& piece,
                                       std::uint64_t& written) const noexcept {
        // relaxed: the words of a holder, here and below
        const std::uint64_t named = spare(view).first.load(std::memory_order_relaxed);
        const std::uint64_t own = begun | piece.push;
        written = piece.at == 0 ? 0 : spare(view).bytes.load(std::memory_order_relaxed);
        if (piece.at != 0) {
            return named == own && piece.bytes <= piece.total - std::min(piece.total, written)
                       ? SequenceEffect::done
                       : SequenceEffect::changed;
        }
        const bool is_free = (named & begun) == 0 || named == own || piece.replaces_another;
        return is_free ? SequenceEffect::done : SequenceEffect::busy;
    }

    // Writes the piece and adds it to `written`. Returns the Extent to commit.
    [[nodiscard]] std::uint32_t put(const ContentView& view,
                                    const PushPiece& piece,
                                    std::uint64_t& written) const noexcept {
        BodyRing ring = ground_.ring(view);
        std::uint64_t at = view.bytes;
        if (piece.end == ContentEnd::front) {
            ring.first = ring.place(view.capacity - piece.total);
            at = 0;
        }
        ring.write(at + piece.at, piece.source, piece.bytes);
        written += piece.bytes;
        const bool is_whole = written == piece.total;
        // relaxed: the operation word is released after them
        spare(view).first.store(is_whole ? ring.first : begun | piece.push,
                                std::memory_order_relaxed);
        spare(view).bytes.store(is_whole ? view.bytes + piece.total : written,
                                std::memory_order_relaxed);
        return is_whole ? 1 - view.operation.which : view.operation.which;
    }

    const SequenceGround<Atomic>& ground_;
    const Reservation<Atomic>& reservation_;
};

}  // namespace acp::sequence
