// SPDX-License-Identifier: BSD-3-Clause
// Vectors and deques in shared memory: sequences of bytes that any thread of any process of a node
// changes and reads concurrently. One object serves one thread, for all sequences of one heap; a
// sequence is named by the block it begins with.
//
// Contract:
// - Each operation takes effect at one moment between its call and its return (it is linearizable).
//   A read returns the content of one moment.
// - Adding and removing at an end changes the body in place; any other change makes a new body, at
//   the cost of a copy. Removing at an end can return the removed bytes; no two calls get the same
//   ones.
// - An operation waits for a participant that is stopped while it holds or changes the sequence as
//   long as Others::may_wait says, and not at all for a dead one. Then it undoes the other's
//   operation, which a stopped participant retries when it resumes. Reads wait for no participant.
//   After bound() a call copies and waits little, and returns too_long or busy instead.
// - A process that is killed at any instruction leaves no half change; recover() frees the blocks
//   that it held, also those that it was about to free (table/freeing.hpp), and completes its
//   destruction of a sequence.
// - Where there is no memory an operation returns no_room, and the sequence is as before. Removing
//   at an end needs no memory. If a living participant was stopped while it held the sequence, each
//   operation needs memory for a copy, and returns `held` without it.
// - The content of a vector is contiguous; that of a deque has at most two pieces.
//
// sequence/reservation.hpp gives the right to change a sequence. Atomic: std::atomic, or one of a
// test that a scheduler runs or that kills the process between two accesses. Tests:
// tests/unit/sequence.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "sequence/body_replacer.hpp"
#include "sequence/ground.hpp"
#include "sequence/push_in_pieces.hpp"
#include "sequence/requests.hpp"
#include "sequence/reservation.hpp"
#include "table/first_use.hpp"

namespace acp::sequence {

template <template <class> class Atomic = std::atomic>
class Sequence {
public:
    // The most bytes that extend() appends: pages that are given back, not written.
    static constexpr std::uint64_t extension_most = 1ULL << 20;

    //   blocks, others  of the calling thread; outlive this
    //   participants    of the heap, zero at first; only the calling thread uses number `own`
    Sequence(table::Blocks<Atomic>& blocks,
             Others& others,
             SequenceUsers<Atomic> participants,
             std::uint32_t own) noexcept
        : ground_(blocks, others, participants, own), reservation_(ground_) {}

    ~Sequence() = default;
    Sequence(const Sequence&) = delete;
    Sequence& operator=(const Sequence&) = delete;

    // From now on a change that would copy more bytes returns too_long, and one that would take the
    // sequence over from a living participant returns busy.
    void bound(std::uint64_t copied_most) noexcept {
        copied_most_ = copied_most;
        reservation_.spare_the_living(true);
    }

    // Ends what bound() has begun.
    void unbound() noexcept {
        copied_most_ = ~std::uint64_t{0};
        reservation_.spare_the_living(false);
    }

    // Makes a sequence of zero bytes; recovery frees it if the process is killed before keep(). 0:
    // there is no room.
    //   maker  the process that owns it until its first use (table/first_use.hpp)
    [[nodiscard]] BlockNumber make(SequenceKind kind,
                                   std::uint64_t bytes,
                                   std::uint64_t capacity,
                                   std::uint64_t maker = table::no_process) {
        if (bytes > bytes_most || capacity > bytes_most) return 0;
        auto& shown = ground_.shown();
        const BlockNumber number =
            ground_.blocks().allocate(shown.head_made, sizeof(SequenceHead<Atomic>), line_bytes);
        if (number == 0) return 0;
        const std::uint64_t room = rounded_capacity(std::max(bytes, capacity));
        const BlockNumber body = reservation_.make_body(room);
        if (body == 0) {
            ground_.unlink_and_free(number,
                                    [&] { shown.head_made.store(0, std::memory_order_release); });
            return 0;
        }
        auto& made = ground_.body(body);
        std::memset(made.content(), 0, bytes);
        made.extents[0].first.store(0, std::memory_order_relaxed);
        made.extents[0].bytes.store(bytes, std::memory_order_relaxed);
        auto& head = ground_.head(number);
        head.body.store(Named{0, body, 1}.packed(), std::memory_order_relaxed);
        OperationWord first;
        first.generation = 1;
        first.sequence = 1;
        head.operation.store(first.packed(), std::memory_order_relaxed);
        // release: the head, which owns its body from now on
        shown.head_made.store(Named{1, number, 0}.packed(), std::memory_order_release);
        shown.made.store(0, std::memory_order_release);
        const std::uint64_t mark = SequenceHead<Atomic>::mark_of(number, kind);
        head.mark.store(table::first_mark(ground_.blocks(), number, mark, maker),
                        std::memory_order_release);
        return number;
    }

    // Called after the number of the sequence made last was stored: recover() no longer frees it.
    void keep() const noexcept { ground_.shown().head_made.store(0, std::memory_order_release); }

    // Whether a sequence of the kind begins there; this counts as its first use. Wrong only for a
    // block that holds something else and by chance has the mark of 64 bits.
    //   number  any number whose offset and sizeof(Head) bytes from there are in the heap
    [[nodiscard]] bool is_one(BlockNumber number, SequenceKind kind) const {
        return table::offset_of(number) % line_bytes == 0 &&
               table::is_there(ground_.blocks(), ground_.head(number).mark, number,
                               SequenceHead<Atomic>::mark_of(number, kind));
    }

    // Appends zero bytes until the content has `bytes` bytes, at most extension_most of them per
    // call, where the capacity suffices. Not a first use: the maker of a sequence extends it before
    // another thread knows it. done (there: the length now), held, damaged, outside (none of this
    // maker is there, or its capacity is less)
    SequenceEffect extend(BlockNumber number,
                          SequenceKind kind,
                          std::uint64_t maker,
                          std::uint64_t bytes,
                          std::uint64_t& there) {
        if (!is_made_by(number, kind, maker)) return SequenceEffect::outside;
        auto& head = begin(number);
        for (ContentView view;;) {
            const SequenceEffect turn = reservation_.wait_until_idle(head, view);
            if (turn != SequenceEffect::done) return turn;
            there = view.bytes;
            if (bytes > view.capacity || bytes <= view.bytes) {
                if (!ground_.is_current(head, view)) continue;
                return bytes > view.capacity ? SequenceEffect::outside : SequenceEffect::done;
            }
            const BodyRing ring = ground_.ring(view);
            const std::uint64_t added =
                ring.in_one_piece(view.bytes, std::min(bytes - view.bytes, extension_most));
            if (!reservation_.hold(head, view)) continue;
            ground_.clear(view.body.block, ring.place(view.bytes), added);
            const std::uint32_t which = write_extent(view, view.first, view.bytes + added);
            if (!reservation_.release(head, view, which)) continue;
            there = view.bytes + added;
            return SequenceEffect::done;
        }
    }

    // Frees a sequence. No thread may use it from then on, and dead participants that did must have
    // been recovered. false: there is none, or another thread destroys it.
    bool destroy(BlockNumber number, SequenceKind kind) {
        return is_one(number, kind) &&
               destroy_marked(number, SequenceHead<Atomic>::mark_of(number, kind), [] {});
    }

    // Destroys a sequence that was never used. false: there is none of this maker.
    //   begun()  is called once no other thread can use or destroy it
    template <typename Begun>
    bool destroy_unused(BlockNumber number, std::uint32_t maker, const Begun& begun) {
        if (table::offset_of(number) % line_bytes != 0) return false;
        const std::uint64_t mark = ground_.head(number).mark.load(std::memory_order_acquire);
        for (const SequenceKind kind : {SequenceKind::vector, SequenceKind::deque}) {
            if ((mark ^ table::unused::of(maker)) == SequenceHead<Atomic>::mark_of(number, kind))
                return destroy_marked(number, mark, begun);
        }
        return false;
    }

    // Adds bytes at an end, in the order of `source` also at the front. done (index: of the first
    // added byte), no_room, held
    SequenceEffect push(BlockNumber number,
                        ContentEnd end,
                        const char* source,
                        std::uint64_t bytes,
                        std::uint64_t& index) {
        if (bytes > copied_most_) return SequenceEffect::too_long;
        auto& head = begin(number);
        for (ContentView view;;) {
            const SequenceEffect turn = reservation_.wait_until_idle(head, view);
            if (turn != SequenceEffect::done) return turn;
            if (bytes > bytes_most || view.bytes > bytes_most - bytes) {
                if (ground_.is_current(head, view)) return SequenceEffect::no_room;
                continue;
            }
            const std::uint64_t at = end == ContentEnd::back ? view.bytes : 0;
            const bool has_room = bytes <= view.capacity - std::min(view.capacity, view.bytes);
            const Attempt step =
                has_room ? write_at_end(head, view, end, {source, bytes})
                         : change(head, view, {.at = at, .source = source, .added = bytes});
            if (step == Attempt::again) continue;
            if (step == Attempt::done) index = at;
            return effect_of(step);
        }
    }

    // Removes bytes at an end; `portion` returns how many. done, held, changed
    SequenceEffect pop(BlockNumber number, const Removal& removal, Portion& portion) {
        if (removal.target != nullptr && std::min(removal.bytes, removal.room_bytes) > copied_most_)
            return SequenceEffect::too_long;
        auto& head = begin(number);
        for (ContentView view;;) {
            const SequenceEffect turn = reservation_.wait_until_idle(head, view);
            if (turn != SequenceEffect::done) return turn;
            if (removal.version != any_version && removal.version != view.operation.sequence) {
                if (ground_.is_current(head, view)) return SequenceEffect::changed;
                continue;
            }
            const std::uint64_t removed = std::min(removal.bytes, view.bytes);
            portion = {removed <= removal.room_bytes ? removed : 0, view.bytes};
            if (portion.bytes == 0) {
                if (ground_.is_current(head, view)) return SequenceEffect::done;
                continue;
            }
            if (take_from_end(head, view, removal.end, removal.target, removed) == Attempt::done)
                return SequenceEffect::done;
        }
    }

    // Copies up to `bytes` bytes from an index; all are of one moment. Waits for no participant;
    // after reads_most failed attempts it holds the sequence if that is idle.
    // done, damaged
    SequenceEffect read(BlockNumber number,
                        std::uint64_t index,
                        char* target,
                        std::uint64_t bytes,
                        Portion& portion) {
        if (bytes > copied_most_) return SequenceEffect::too_long;
        auto& head = begin(number);
        ContentView view;
        for (std::uint32_t i = 0;; ++i) {
            if (!reservation_.look(head, view)) return SequenceEffect::damaged;
            if (!ground_.is_current(head, view)) continue;
            const std::uint64_t copied =
                index < view.bytes ? std::min(bytes, view.bytes - index) : 0;
            const bool is_held = i >= reads_most && view.operation.state == TurnState::idle &&
                                 reservation_.hold(head, view);
            ground_.ring(view).read(index, target, copied);
            portion = {copied, view.bytes};
            if (is_held) {
                // The bytes are those of the moment when the hold began, even if the sequence was
                // taken over since.
                (void)reservation_.release(head, view, view.operation.which);
                return SequenceEffect::done;
            }
            if (ground_.is_current(head, view)) return SequenceEffect::done;
        }
    }

    // Executes a Splice. done (bytes: length of the content before), no_room, held, outside
    SequenceEffect splice(BlockNumber number, const Splice& splice, std::uint64_t& bytes) {
        auto& head = begin(number);
        for (ContentView view;;) {
            const SequenceEffect turn = reservation_.wait_until_idle(head, view);
            if (turn != SequenceEffect::done) return turn;
            const bool is_outside = splice.must_fit && (splice.at > view.bytes ||
                                                        splice.removed > view.bytes - splice.at);
            const bool is_too_much = splice.added > bytes_most - std::min(view.bytes, bytes_most) ||
                                     splice.capacity_least > bytes_most;
            bytes = view.bytes;
            if (is_outside || is_too_much || is_nothing(splice, view)) {
                if (!ground_.is_current(head, view)) continue;
                if (is_outside) return SequenceEffect::outside;
                return is_too_much ? SequenceEffect::no_room : SequenceEffect::done;
            }
            const Attempt step =
                is_removing_the_end(splice, view)
                    ? take_from_end(head, view, ContentEnd::back, nullptr, view.bytes - splice.at)
                    : change(head, view, splice);
            if (step != Attempt::again) return effect_of(step);
        }
    }

    // The length of the content at one moment, and where up to `bytes` bytes from an index lie
    // then. done, damaged
    [[nodiscard]] SequenceEffect layout(BlockNumber number,
                                        std::uint64_t index,
                                        std::uint64_t bytes,
                                        SequenceLayout& layout) const noexcept {
        auto& head = ground_.head(number);
        ContentView view;
        do {
            if (!reservation_.look(head, view)) return SequenceEffect::damaged;
        } while (!ground_.is_current(head, view));
        layout = {view.bytes, view.capacity, view.operation.sequence, {}};
        const std::uint64_t all = index < view.bytes ? std::min(bytes, view.bytes - index) : 0;
        if (all == 0) return SequenceEffect::done;
        const BodyRing ring = ground_.ring(view);
        const std::uint64_t start = table::offset_of(view.body.block) + Body<Atomic>::head_bytes;
        const std::uint64_t piece = ring.in_one_piece(index, all);
        layout.pieces[0] = {start + ring.place(index), piece};
        if (piece < all) layout.pieces[1] = {start, all - piece};
        return SequenceEffect::done;
    }

    // Replaces bodies in pieces.
    [[nodiscard]] BodyReplacer<Atomic> body_replacer() noexcept { return {ground_, reservation_}; }

    // Pushes in pieces.
    [[nodiscard]] PushInPieces<Atomic> push_in_pieces() noexcept { return {ground_, reservation_}; }

    // Completes or undoes the operation of a dead participant, and frees the blocks that it held.
    // Any survivor may call it, again if that survivor was killed in it. false: another live
    // process is recovering the participant.
    bool recover(std::uint32_t dead);

private:
    template <typename Begun>
    bool destroy_marked(BlockNumber number, std::uint64_t mark, const Begun& begun) {
        auto& shown = ground_.shown();
        shown.destroyed.store(number, std::memory_order_release);
        // acq_rel: other threads' writes to it; partner: SequenceRecovery::end_destruction()
        if (!ground_.head(number).mark.compare_exchange_strong(
                mark, SequenceHead<Atomic>::mark_of_destroyed(number, ground_.own()),
                std::memory_order_acq_rel, std::memory_order_relaxed)) {
            shown.destroyed.store(0, std::memory_order_release);
            return false;
        }
        begun();
        ground_.free_with_body(number,
                               [&] { shown.destroyed.store(0, std::memory_order_release); });
        return true;
    }

    // Whether a sequence is there that was never used, of this maker, or one without a maker.
    [[nodiscard]] bool is_made_by(BlockNumber number,
                                  SequenceKind kind,
                                  std::uint64_t maker) const noexcept {
        if (table::offset_of(number) % line_bytes != 0) return false;
        const std::uint64_t mark = ground_.head(number).mark.load(std::memory_order_acquire);
        const std::uint64_t used = SequenceHead<Atomic>::mark_of(number, kind);
        return mark == used ||
               (maker != table::no_process && (mark ^ table::unused::of(maker)) == used);
    }

    enum class Attempt : std::uint8_t { done, again, no_room, too_long };

    // The effect of an attempt that is not repeated.
    [[nodiscard]] static SequenceEffect effect_of(Attempt attempt) noexcept {
        if (attempt == Attempt::too_long) return SequenceEffect::too_long;
        return attempt == Attempt::done ? SequenceEffect::done : SequenceEffect::no_room;
    }

    struct Source {
        const char* bytes;
        std::uint64_t count;
    };

    // The number of attempts of a read before it holds the sequence.
    static constexpr std::uint32_t reads_most = 8;

    // The new start of the content: an empty content begins at the start of the body again.
    [[nodiscard]] static std::uint64_t at_start(const ContentView& view,
                                                std::uint64_t left) noexcept {
        return left != 0 ? view.first : 0;
    }

    [[nodiscard]] static bool is_nothing(const Splice& splice, const ContentView& view) noexcept {
        const bool is_removing = splice.removed != 0 && splice.at < view.bytes;
        const bool is_shrinking = splice.may_shrink && splice.capacity_least < view.capacity / 4;
        return !is_removing && splice.added == 0 && splice.capacity_least <= view.capacity &&
               !is_shrinking;
    }

    // Whether a splice, which changes something, only removes bytes at the end.
    [[nodiscard]] static bool is_removing_the_end(const Splice& splice,
                                                  const ContentView& view) noexcept {
        return splice.added == 0 && splice.capacity_least <= view.capacity && !splice.may_shrink &&
               splice.removed >= view.bytes - splice.at;
    }

    // Publishes the sequence that this participant changes, for its recovery.
    SequenceHead<Atomic>& begin(BlockNumber number) const noexcept {
        ground_.shown().head.store(number, std::memory_order_relaxed);
        return ground_.head(number);
    }

    // Writes the Extent that is not committed. Returns its index.
    std::uint32_t write_extent(const ContentView& view,
                               std::uint64_t first,
                               std::uint64_t bytes) const noexcept {
        const std::uint32_t which = 1 - view.operation.which;
        auto& extent = ground_.body(view.body.block).extents[which];
        // relaxed: the operation word is released after it, here and below
        extent.first.store(first, std::memory_order_relaxed);
        extent.bytes.store(bytes, std::memory_order_relaxed);
        return which;
    }

    Attempt write_at_end(SequenceHead<Atomic>& head,
                         ContentView view,
                         ContentEnd end,
                         const Source& source) {
        if (source.count == 0)
            return ground_.is_current(head, view) ? Attempt::done : Attempt::again;
        if (!reservation_.hold(head, view)) return Attempt::again;
        BodyRing ring = ground_.ring(view);
        std::uint64_t at = view.bytes;
        if (end == ContentEnd::front) {
            ring.first = ring.place(view.capacity - source.count);
            at = 0;
        }
        ring.write(at, source.bytes, source.count);
        const std::uint32_t which = write_extent(view, ring.first, view.bytes + source.count);
        return reservation_.release(head, view, which) ? Attempt::done : Attempt::again;
    }

    // Removes bytes at an end, into `target` as Removal says.
    Attempt take_from_end(SequenceHead<Atomic>& head,
                          ContentView view,
                          ContentEnd end,
                          char* target,
                          std::uint64_t removed) {
        if (!reservation_.hold(head, view)) return Attempt::again;
        const std::uint64_t left = view.bytes - removed;
        const BodyRing ring = ground_.ring(view);
        if (target != nullptr) ring.read(end == ContentEnd::back ? left : 0, target, removed);
        const bool is_moved = end == ContentEnd::front && left != 0;
        const std::uint32_t which =
            write_extent(view, is_moved ? ring.place(removed) : at_start(view, left), left);
        return reservation_.release(head, view, which) ? Attempt::done : Attempt::again;
    }

    // Makes a new body for an idle sequence. no_room: nothing has changed.
    Attempt change(SequenceHead<Atomic>& head, ContentView view, const Splice& splice) {
        const std::uint64_t at = std::min(splice.at, view.bytes);
        const std::uint64_t removed = std::min(splice.removed, view.bytes - at);
        const std::uint64_t bytes = view.bytes - removed + splice.added;
        if (bytes > copied_most_)
            return ground_.is_current(head, view) ? Attempt::too_long : Attempt::again;
        if (!reservation_.begin_change(head, view)) return Attempt::again;
        const BlockNumber made = make_room(view, bytes, splice);
        if (made == 0) {
            reservation_.keep_body(head, view);
            return Attempt::no_room;
        }
        auto& body = ground_.body(made);
        const BodyRing old = ground_.ring(view);
        old.read(0, body.content(), at);
        if (splice.added != 0) std::memcpy(body.content() + at, splice.source, splice.added);
        old.read(at + removed, body.content() + at + splice.added, view.bytes - at - removed);
        body.extents[0].first.store(0, std::memory_order_relaxed);
        body.extents[0].bytes.store(bytes, std::memory_order_relaxed);
        const Named named = view.body.next(made, 0);
        auto& replaced = ground_.shown().replaced;
        reservation_.show_made(named);
        replaced.store(Named{0, view.body.block, 0}.packed(), std::memory_order_release);
        const bool is_done = reservation_.install(head, view, view.operation, named);
        const auto forget = [&] { replaced.store(0, std::memory_order_release); };
        if (is_done) {
            ground_.unlink_and_free(view.body.block, forget);
        } else {
            forget();
            reservation_.drop_made(made);
        }
        return is_done ? Attempt::done : Attempt::again;
    }

    // Makes a body for the content after a change; 0: there is no room.
    BlockNumber make_room(const ContentView& view, std::uint64_t bytes, const Splice& splice) {
        const std::uint64_t needed = capacity_needed(bytes, splice);
        const std::uint64_t wanted = capacity_wanted(view.capacity, bytes, splice);
        BlockNumber made = reservation_.make_body(wanted);
        if (made == 0 && needed < wanted) made = reservation_.make_body(needed);
        return made;
    }

    template <template <class> class Of>
    friend class SequenceRecovery;

    SequenceGround<Atomic> ground_;
    Reservation<Atomic> reservation_;
    std::uint64_t copied_most_ = ~std::uint64_t{0};
};

}  // namespace acp::sequence

#include "sequence/recovery.hpp"
