// SPDX-License-Identifier: BSD-3-Clause
// Small blocks, in spans of one size class. A span is held by the cache of one thread, which alone
// takes blocks from it, or is unheld; any thread frees blocks of any span. If there is no room, a
// thread steals spans from caches that no call uses. An unheld span is in the room index while it
// has room, and becomes units again when it is empty: the thread that frees its last block, or
// gives it up, acquires it for that. The contract is Heap's (heap/heap.hpp).
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "heap/at_work.hpp"
#include "heap/control.hpp"
#include "heap/offset.hpp"
#include "heap/room_index.hpp"
#include "heap/size_classes.hpp"
#include "heap/thread_cache.hpp"
#include "heap/unit_word.hpp"
#include "heap/units.hpp"

namespace acp::heap {

template <template <class> class Atomic = std::atomic>
class Spans {
public:
    //   control, units  must outlive this
    Spans(const Control<Atomic>& control, const Units<Atomic>& units, OrderAll order_all) noexcept
        : control_(control),
          units_(units),
          room_(control, RoomIndex<Atomic>::List::several_blocks),
          rest_(control, RoomIndex<Atomic>::List::few_blocks),
          order_all_(order_all) {}

    // Allocates a block of the class; if there is no room for a span, of a larger class.
    [[gnu::always_inline]] Offset allocate(ThreadCache& cache, std::uint32_t size_class) const {
        const Offset block = allocate_at_once(cache, record_of(cache), size_class);
        return block != no_block ? block : allocate_anew(cache, size_class);
    }

    // Allocates a block from the span that the cache holds. no_block: it has none, or holds none.
    [[gnu::always_inline]] Offset allocate_at_once(ThreadCache& cache,
                                                   CacheRecord<Atomic>& record,
                                                   std::uint32_t size_class) const {
        ThreadCache::Hold& hold = cache.hold(size_class);
        return is_held(hold) ? take(record, hold, size_class) : no_block;
    }

    // allocate() if that returned no_block.
    [[gnu::noinline]] Offset allocate_anew(ThreadCache& cache, std::uint32_t size_class) const {
        ThreadCache::Hold& hold = cache.hold(size_class);
        while (refill(cache, size_class)) {
            const Offset block = take(record_of(cache), hold, size_class);
            if (block != no_block) return block;
        }
        return take_larger(cache, size_class);
    }

    // Allocates a block of this class and no other.
    Offset allocate_exactly(ThreadCache& cache, std::uint32_t size_class) const {
        do {
            const Offset block = allocate_at_once(cache, record_of(cache), size_class);
            if (block != no_block) return block;
        } while (refill(cache, size_class));
        return no_block;
    }

    //   block  in the span that begins with the unit `head`
    [[gnu::always_inline]] Freed free(ThreadCache& cache,
                                      std::uint32_t head,
                                      std::uint32_t size_class,
                                      Offset block) const {
        const SizeClass& size = control_.size(size_class);
        const std::uint32_t which = size.block_at(block - offset_of(head));
        if (which >= size.blocks) [[unlikely]]
            return Freed::not_a_block;
        const std::uint64_t mask = std::uint64_t{1} << (which % 64);
        auto& word = control_.blocks(head)[which / 64];
        // relaxed: the next operation is a release and comes after this store, and the stores of a
        // killed process persist up to some instruction
        record_of(cache).freed_to.store(head + 1, std::memory_order_relaxed);
        // seq_cst: ordered before the load of the span's holder; partner: release(), which gives
        // the span up, then tests for room
        const std::uint64_t before = word.fetch_or(mask, std::memory_order_seq_cst);
        if ((before & mask) != 0) [[unlikely]]
            return Freed::not_allocated;
        const UnitWord span =
            UnitWord::unpacked(control_.unit(head).load(std::memory_order_seq_cst));
        if (span.holder == 0 && !is_room_noted(head, size_class, before | mask, which / 64))
            note_freed(cache, head, size_class, before | mask, which / 64);
        return Freed::done;
    }

    // The usable bytes of the block; 0: it is not allocated.
    //   word  the word of the block's unit
    [[nodiscard]] std::uint64_t usable_bytes(std::uint32_t unit,
                                             const UnitWord& word,
                                             Offset block) const noexcept {
        const SizeClass& size = control_.size(word.size_class);
        const std::uint32_t head = unit - word.back;
        const std::uint32_t which = size.block_at(block - offset_of(head));
        if (which >= size.blocks) return 0;
        const std::uint64_t bits =
            control_.blocks(head)[which / 64].load(std::memory_order_acquire);
        return (bits >> (which % 64) & 1) == 0 ? size.block_bytes : 0;
    }

    // Gives up all spans that the cache holds. Returns whether one of them was empty and has become
    // units.
    bool let_go(ThreadCache& cache) const {
        bool has_closed = false;
        for (std::uint32_t c = 0; c < size_class_count; ++c) {
            ThreadCache::Hold& hold = cache.hold(c);
            if (is_held(hold) && release(cache, hold.drop(), c)) has_closed = true;
        }
        return has_closed;
    }

    // How often a call that needs room steals spans. More than once, since other calls may steal at
    // the same time, and hold the stolen spans when this call searches.
    static constexpr std::uint32_t thefts_max = 8;

    // Gives up the spans of all other caches that no call uses, to gain room: their owners detect
    // that at their next call. Returns whether there is more room, or may be soon, because other
    // calls hold spans and may be about to give them up. Visits the areas in which caches hold
    // spans.
    bool steal_idle(ThreadCache& cache) const {
        const Marked marked = mark_idle(cache);
        if (marked.count == 0) return marked.is_forgotten || marked.is_other_at_work;
        const bool is_ordered = order_all_ == nullptr || order_all_();
        std::uint32_t found = 0;
        const auto take_marked = [&](std::uint32_t unit) {
            UnitWord word = units_.word(unit);
            if (word.state != UnitState::span || word.thief != cache.number() + 1) return false;
            ++found;
            const UnitWord before = word;
            word.thief = 0;
            const bool is_taken = is_ordered && is_idle(control_, word.holder - 1);
            if (is_taken) word.holder = cache.number() + 1;
            if (change(unit, before, word) && is_taken) release(cache, unit, word.size_class);
            return false;
        };
        units_.visit_held(take_marked);
        // Another thief has marked some, or their bit was clear for a moment (Units::forget_held).
        if (found != marked.count) units_.visit_in_use(take_marked);
        // If it took none, another thief did, or the holders are at work: there may be room now.
        return true;
    }

    // Undoes a theft whose thief or holder was killed: the holder keeps the span, unless the word
    // has changed since.
    void undo_theft(std::uint32_t head, UnitWord word) const noexcept {
        const UnitWord before = word;
        word.thief = 0;
        change(head, before, word);
    }

    // Gives up a span that a dead cache held, and frees its pending block there.
    void recover(ThreadCache& cache,
                 CacheNumber dead,
                 std::uint32_t head,
                 std::uint32_t size_class) const {
        free_pending(dead, head, size_class);
        release(cache, head, size_class);
    }

    // Completes the closing of a span that a dead cache had begun.
    void finish_closing(ThreadCache& cache,
                        std::uint32_t head,
                        std::uint32_t size_class,
                        CacheNumber holder) const {
        // First: afterwards the place may belong to another span.
        room_.remove(size_class, head);
        rest_.remove(size_class, head);
        units_.give_up(cache, head, holder);
    }

    // Repeats note_room(): the dead cache may have freed a block, or taken a span out of the index,
    // without noting that the span has room.
    void look_again(ThreadCache& cache, std::uint32_t head) const {
        const std::uint32_t of_a_bit = control_.units_per_room_bit();
        const std::uint32_t first = head / of_a_bit * of_a_bit;
        for (std::uint32_t unit = first; unit < first + of_a_bit; ++unit) {
            const UnitWord word = units_.word(unit);
            if (word.state == UnitState::span && word.holder == 0) {
                note_room(cache, unit, word.size_class);
            }
        }
    }

private:
    // The result of steal_idle()'s first pass over the units.
    struct Marked {
        std::uint32_t count = 0;        // spans to be stolen
        bool is_forgotten = false;      // spans of its own that it gave up
        bool is_other_at_work = false;  // others may be about to give up spans
    };

    Marked mark_idle(ThreadCache& cache) const {
        Marked marked;
        units_.visit_held([&](std::uint32_t unit) {
            const UnitWord word = units_.word(unit);
            if (word.holder == 0) return;
            if (word.is_held_by(cache.number())) {
                // Was a theft undone after this cache had detected it and forgotten the span?
                if (word.state != UnitState::span || word.thief != 0 ||
                    cache.hold(word.size_class).head() == unit) {
                    return;
                }
                release(cache, unit, word.size_class);
                marked.is_forgotten = true;
            } else if (word.state == UnitState::span && is_idle(control_, word.holder - 1)) {
                UnitWord mine = word;
                mine.thief = cache.number() + 1;  // replaces another thief, which may be stopped
                const bool is_mine = change(unit, word, mine);
                marked.count += is_mine ? 1 : 0;
                marked.is_other_at_work = marked.is_other_at_work || !is_mine;
            } else {
                marked.is_other_at_work = true;
            }
        });
        return marked;
    }

    // Only the holder of a span takes blocks from it: a bit that it sees set stays set until the
    // holder clears it.
    [[gnu::always_inline]] Offset take(CacheRecord<Atomic>& record,
                                       ThreadCache::Hold& hold,
                                       std::uint32_t size_class) const noexcept {
        const SizeClass& size = control_.size(size_class);
        auto* words = control_.blocks(hold.head());
        for (; hold.word < size.words; ++hold.word) {
            auto& word = words[hold.word];
            const std::uint64_t bits = word.load(std::memory_order_relaxed);
            if (bits == 0) continue;
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits));
            const Offset block =
                offset_of(hold.head()) + std::uint64_t{hold.word * 64 + bit} * size.block_bytes;
            // relaxed: see free()
            record.pending.store(block + 1, std::memory_order_relaxed);
            // acq_rel: the freeing thread's writes to the block come before; partner: free()
            word.fetch_and(~(std::uint64_t{1} << bit), std::memory_order_acq_rel);
            return block;
        }
        return no_block;
    }

    [[nodiscard]] CacheRecord<Atomic>& record_of(const ThreadCache& cache) const noexcept {
        return control_.cache(cache.number());
    }

    // Prepares an empty hold for the head of a span.
    void begin_hold(const ThreadCache& cache,
                    ThreadCache::Hold& hold,
                    std::uint32_t size_class) const noexcept {
        hold.held_word = held(cache, size_class).packed();
        hold.word = 0;
    }

    // Gets a span of this class with free blocks for the cache. false: there is none, and no room
    // for a new one.
    bool refill(ThreadCache& cache, std::uint32_t size_class) const {
        // If the cache gives up the span of its last block, another cache may take the span, and
        // recovery could no longer determine the owner of the pending block: from here on the block
        // counts as kept.
        control_.keep(cache.number());
        ThreadCache::Hold& hold = cache.hold(size_class);
        if (!hold.is_empty()) {
            hold.word = word_with_room(hold.head(), control_.size(size_class));
            if (hold.word != no_unit) return true;
            release(cache, hold.drop(), size_class);
        }
        begin_hold(cache, hold, size_class);
        hold.set_head(take_room(cache, size_class));
        if (hold.is_empty()) hold.set_head(open(cache, size_class));
        if (hold.is_empty()) {
            // Gives up spans of other classes; empty ones become units.
            if (let_go(cache)) hold.set_head(open(cache, size_class));
        }
        for (std::uint32_t i = 0; i < thefts_max && hold.is_empty() && steal_idle(cache); ++i) {
            hold.set_head(take_room(cache, size_class));
            if (hold.is_empty()) hold.set_head(open(cache, size_class));
        }
        if (hold.is_empty()) hold.set_head(take_rest(cache, size_class));
        return !hold.is_empty();
    }

    // The first word of a span in which several blocks are free; no_unit: none.
    [[nodiscard]] std::uint32_t word_with_room(std::uint32_t head,
                                               const SizeClass& size) const noexcept {
        for (std::uint32_t i = 0; i < size.words; ++i) {
            // seq_cst: partner is free(), which sets a bit, then loads the span's holder
            const std::uint64_t bits = control_.blocks(head)[i].load(std::memory_order_seq_cst);
            if (static_cast<std::uint32_t>(std::popcount(bits)) >= size.room) return i;
        }
        return no_unit;
    }

    // Takes a span from the index of spans with several free blocks.
    std::uint32_t take_room(ThreadCache& cache, std::uint32_t size_class) const {
        return take_from(room_, cache, size_class);
    }

    std::uint32_t take_from(const RoomIndex<Atomic>& index,
                            ThreadCache& cache,
                            std::uint32_t size_class) const {
        auto& freed_to = record_of(cache).freed_to;
        const auto note = [&](std::uint32_t unit) {
            freed_to.store(unit + 1, std::memory_order_relaxed);
        };
        const std::uint32_t of_a_bit = control_.units_per_room_bit();
        while (const auto place = index.take(size_class, note)) {
            for (std::uint32_t unit = *place; unit < *place + of_a_bit; ++unit) {
                if (acquire(cache, unit, size_class)) return unit;
            }
        }
        return no_unit;
    }

    // Takes a span from the index of spans with few free blocks.
    std::uint32_t take_rest(ThreadCache& cache, std::uint32_t size_class) const {
        while (true) {
            const std::uint32_t unit = take_from(rest_, cache, size_class);
            if (unit == no_unit || has_block(unit, control_.size(size_class))) return unit;
            release(cache, unit, size_class);
        }
    }

    // Allocates a block of a larger class from existing spans, because the heap is full.
    Offset take_larger(ThreadCache& cache, std::uint32_t size_class) const {
        for (std::uint32_t c = size_class + 1; c < size_class_count; ++c) {
            ThreadCache::Hold& hold = cache.hold(c);
            if (!is_held(hold)) {
                begin_hold(cache, hold, c);
                hold.set_head(take_room(cache, c));
            }
            if (hold.is_empty()) continue;
            const Offset block = take(record_of(cache), hold, c);
            if (block != no_block) return block;
        }
        return no_block;
    }

    // Makes a new span, held by the cache.
    std::uint32_t open(ThreadCache& cache, std::uint32_t size_class) const {
        const SizeClass& size = control_.size(size_class);
        const std::uint32_t head = units_.claim(cache, size.span_units, 1, size_class);
        if (head == no_unit) return no_unit;
        for (std::uint32_t i = 0; i < size.words; ++i) {
            control_.blocks(head)[i].store(size.full_word(i), std::memory_order_relaxed);
        }
        // The head last: its release publishes the bits and the parts.
        for (std::uint32_t i = 1; i < size.span_units; ++i) {
            units_.store(head + i, {UnitState::span_part, size_class, i, 0, 0});
        }
        units_.store(head, held(cache, size_class));
        units_.note_held(head);
        return head;
    }

    [[nodiscard]] UnitWord unheld(std::uint32_t size_class) const noexcept {
        return {UnitState::span, size_class, 0, 0, control_.size(size_class).span_units};
    }

    [[nodiscard]] UnitWord held(const ThreadCache& cache, std::uint32_t size_class) const noexcept {
        UnitWord word = unheld(size_class);
        word.holder = cache.number() + 1;
        return word;
    }

    // Whether the cache holds a span of the class: a thief may have taken it since the cache's last
    // call.
    [[gnu::always_inline]] bool is_held(ThreadCache::Hold& hold) const noexcept {
        if (hold.is_empty()) return false;
        // seq_cst: after the call has stored that it is at work; partner: steal_idle()
        if (control_.unit(hold.head()).load(std::memory_order_seq_cst) == hold.held_word) [[likely]]
            return true;
        (void)hold.drop();
        return false;
    }

    bool change(std::uint32_t head, UnitWord from, UnitWord to) const noexcept {
        std::uint64_t expected = from.packed();
        return control_.unit(head).compare_exchange_strong(
            expected, to.packed(), std::memory_order_seq_cst, std::memory_order_relaxed);
    }

    // Acquires an unheld span for the cache.
    bool acquire(const ThreadCache& cache,
                 std::uint32_t head,
                 std::uint32_t size_class) const noexcept {
        if (!change(head, unheld(size_class), held(cache, size_class))) return false;
        units_.note_held(head);
        return true;
    }

    // Gives a held span up, and notes that it has room; an empty one becomes units. Returns whether
    // it became units.
    bool release(ThreadCache& cache, std::uint32_t head, std::uint32_t size_class) const {
        record_of(cache).freed_to.store(head + 1, std::memory_order_relaxed);
        // seq_cst: ordered before the test for room; partner: free(), which sets a bit, then loads
        // the span's holder
        control_.unit(head).store(unheld(size_class).packed(), std::memory_order_seq_cst);
        return note_room(cache, head, size_class);
    }

    // Updates the index after a block of an unheld span was freed, or after a span was given up.
    bool note_room(ThreadCache& cache, std::uint32_t head, std::uint32_t size_class) const {
        const SizeClass& size = control_.size(size_class);
        if (is_empty(head, size)) {
            if (!acquire(cache, head, size_class)) return false;  // its holder will note its room
            if (is_empty(head, size)) return close(cache, head, size_class);
            return release(cache, head, size_class);
        }
        if (word_with_room(head, size) != no_unit) {
            room_.add(size_class, head);
        } else if (has_block(head, size)) {
            rest_.add(size_class, head);
        }
        return false;
    }

    [[nodiscard]] bool has_block(std::uint32_t head, const SizeClass& size) const noexcept {
        for (std::uint32_t i = 0; i < size.words; ++i) {
            // seq_cst: see word_with_room()
            if (control_.blocks(head)[i].load(std::memory_order_seq_cst) != 0) return true;
        }
        return false;
    }

    [[nodiscard]] bool is_empty(std::uint32_t head, const SizeClass& size) const noexcept {
        for (std::uint32_t i = 0; i < size.words; ++i) {
            if (control_.blocks(head)[i].load(std::memory_order_seq_cst) != size.full_word(i))
                return false;
        }
        return true;
    }

    // Frees the units of an empty span that the cache holds. No block of it can be taken or freed
    // during this.
    bool close(ThreadCache& cache, std::uint32_t head, std::uint32_t size_class) const {
        const SizeClass& size = control_.size(size_class);
        units_.store(head,
                     {UnitState::freeing, size_class, 0, cache.number() + 1, size.span_units});
        finish_closing(cache, head, size_class, cache.number());
        return true;
    }

    // Whether note_freed() has nothing to do: the span is in the index, which list does not matter,
    // and is not empty.
    [[nodiscard, gnu::always_inline]] bool is_room_noted(std::uint32_t head,
                                                         std::uint32_t size_class,
                                                         std::uint64_t bits,
                                                         std::uint32_t word) const {
        const SizeClass& size = control_.size(size_class);
        return bits != size.full_word(word) && room_.has(size_class, head);
    }

    // A cheaper note_room() after a change of one word of the span.
    [[gnu::noinline]] void note_freed(ThreadCache& cache,
                                      std::uint32_t head,
                                      std::uint32_t size_class,
                                      std::uint64_t bits,
                                      std::uint32_t word) const {
        const AtWork<Atomic> at_work(control_, cache, order_all_);
        const SizeClass& size = control_.size(size_class);
        if (bits == size.full_word(word)) {
            note_room(cache, head, size_class);
        } else if (static_cast<std::uint32_t>(std::popcount(bits)) >= size.room) {
            room_.add(size_class, head);
        } else {
            rest_.add(size_class, head);
        }
    }

    // Only a span's holder takes blocks from it, so a block of it that is pending and not free
    // belongs to the dead cache.
    void free_pending(CacheNumber dead,
                      std::uint32_t head,
                      std::uint32_t size_class) const noexcept {
        const SizeClass& size = control_.size(size_class);
        const std::uint64_t pending = control_.cache(dead).pending.load(std::memory_order_relaxed);
        if (pending == 0 || pending - 1 < offset_of(head)) return;
        const std::uint64_t distance = pending - 1 - offset_of(head);
        if (distance >= size.span_units * unit_bytes) return;
        const std::uint32_t which = size.block_at(distance);
        if (which >= size.blocks) return;
        control_.blocks(head)[which / 64].fetch_or(std::uint64_t{1} << (which % 64),
                                                   std::memory_order_seq_cst);
    }

    const Control<Atomic>& control_;
    const Units<Atomic>& units_;
    RoomIndex<Atomic> room_;
    RoomIndex<Atomic> rest_;
    OrderAll order_all_;
};

}  // namespace acp::heap
