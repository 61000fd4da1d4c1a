// SPDX-License-Identifier: BSD-3-Clause
// A heap in shared memory: blocks of any size up to the whole heap, allocated and freed by any
// thread of any process of a node. It deals in offsets and never touches the blocks. One bit per
// small block says whether it is free: to allocate is one atomic `and`, to free one atomic `or`, by
// any thread.
//
// Contract:
// - No thread waits for another one: there is no lock, and a process that is stopped at any
//   instruction delays no other; if it is stopped in a call of the heap, only the free blocks of
//   the spans that the call's cache holds are unavailable.
// - A process that is killed at any instruction leaks nothing here: recover() completes or undoes
//   the operations of its caches, and frees the block that a cache had allocated last, unless the
//   caller had kept it (see keep()) or is_stored() finds it. Blocks that the dead process owned, or
//   was about to free, must be freed by the layer above.
// - A double free, an address that is no block's start, and one outside the heap get different
//   errors and change nothing. A block that was freed and allocated again is indistinguishable from
//   a new one.
// - Blocks are aligned to 16 bytes, or as requested. The start of the blocks' memory must have the
//   largest alignment requested. The content of a new block is unspecified.
// - Memory is taken when a page is first touched, and given back by areas of 1 MiB
//   (heap/units.hpp).
//
// Atomic: std::atomic, or one of a test that a scheduler runs or that kills the process between two
// accesses.
// Tests: tests/unit/heap/heap_test.cpp (model, bad frees), kill_test.cpp (kill and stop at every
// access), concurrency_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "heap/control.hpp"
#include "heap/idle_memory.hpp"
#include "heap/large_blocks.hpp"
#include "heap/offset.hpp"
#include "heap/size_classes.hpp"
#include "heap/spans.hpp"
#include "heap/thread_cache.hpp"
#include "heap/unit_word.hpp"
#include "heap/units.hpp"

namespace acp::heap {

// The alignments that allocate() takes.
inline constexpr std::uint64_t alignment_max = std::uint64_t{1} << 30;

template <template <class> class Atomic = std::atomic>
class Heap {
public:
    //   control    zero at first, of Control::bytes(shape); must outlive this
    //   give_back  called with whole areas that hold no block
    //   order      nullptr: calls execute a fence each; the same for all users of the heap
    Heap(char* control, HeapShape shape, GiveBack give_back, OrderAll order = nullptr) noexcept
        : control_(control, shape),
          units_(control_, give_back),
          spans_(control_, units_, order),
          large_(control_, units_),
          idle_memory_(control_, units_),
          order_all_(order) {}

    ~Heap() = default;

    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;

    [[nodiscard]] const Control<Atomic>& control() const noexcept { return control_; }

    [[nodiscard]] OrderAll order_all() const noexcept { return order_all_; }

    [[nodiscard]] std::uint64_t limit_bytes() const noexcept {
        return std::uint64_t{control_.shape().areas} * area_bytes;
    }

    // Allocates a block, which is pending until keep() or the cache's next allocate(). no_block:
    // there is no room.
    //   bytes      0 counts as 1
    //   alignment  power of two, <= alignment_max
    [[nodiscard, gnu::always_inline]] Offset allocate(
        ThreadCache& cache, std::uint64_t bytes, std::uint64_t alignment = granule_bytes) const {
        const AtWork<Atomic> at_work(control_, cache, order_all_);
        if (bytes <= small_max && alignment <= granule_bytes) [[likely]] {
            return spans_.allocate(cache, class_of(bytes));
        }
        return allocate_rare(cache, bytes, alignment);
    }

    // allocate() of a small block from the span that the cache holds. Calls no function. Only if no
    // fence is needed (`order` was not nullptr). no_block: allocate() does it, or finds that there
    // is no room.
    //   record  the cache's
    [[nodiscard, gnu::always_inline]] Offset allocate_at_once(ThreadCache& cache,
                                                              CacheRecord<Atomic>& record,
                                                              std::uint64_t bytes) const {
        if (bytes > small_max) [[unlikely]]
            return no_block;
        const AtWork<Atomic> at_work(record);
        return spans_.allocate_at_once(cache, record, class_of(bytes));
    }

    // Called after the offset of the cache's last block was stored: recovery no longer frees the
    // block.
    void keep(const ThreadCache& cache) const noexcept { control_.keep(cache.number()); }

    // Frees a block that any thread has allocated.
    [[gnu::always_inline]] Freed free(ThreadCache& cache, Offset block) const {
        if (block >= limit_bytes()) [[unlikely]]
            return Freed::outside;
        const auto unit = static_cast<std::uint32_t>(block >> unit_shift);
        const UnitWord word = units_.word(unit);
        if (is_in_span(word)) [[likely]] {
            if (!is_credible(unit, word)) [[unlikely]]
                return Freed::smashed;
            return spans_.free(cache, unit - word.back, word.size_class, block);
        }
        if (word.state == UnitState::large) return large_.free(cache, unit, word, block);
        return word.state == UnitState::large_part ? Freed::not_a_block : Freed::not_allocated;
    }

    // From now on calls through this object leave the memory of freed blocks to idle_memory().
    void give_back_later() noexcept { units_.give_back_later(); }

    // Whether idle_memory() has something to give back.
    [[nodiscard]] bool has_to_give_back() const noexcept { return units_.has_to_give_back(); }

    [[nodiscard]] const IdleMemory<Atomic>& idle_memory() const noexcept { return idle_memory_; }

    // The usable bytes of a block; 0: no allocated block begins there.
    [[nodiscard]] std::uint64_t usable_bytes(Offset block) const noexcept {
        if (block >= limit_bytes()) return 0;
        const auto unit = static_cast<std::uint32_t>(block >> unit_shift);
        const UnitWord word = units_.word(unit);
        if (word.state == UnitState::large) {
            return block % unit_bytes == 0 ? std::uint64_t{word.units} * unit_bytes : 0;
        }
        return is_in_span(word) && is_credible(unit, word) ? spans_.usable_bytes(unit, word, block)
                                                           : 0;
    }

    // Whether a block is allocated and its caller has kept it.
    [[nodiscard]] bool is_kept(Offset block) const noexcept {
        return usable_bytes(block) != 0 && !control_.is_pending(block);
    }

    // Gives up all spans that the cache holds, so that other caches may take blocks from them:
    // called before a thread ends or is idle for long.
    void let_go(ThreadCache& cache) const {
        const AtWork<Atomic> at_work(control_, cache, order_all_);
        (void)spans_.let_go(cache);
    }

    // Completes the operations of a dead process's caches. Any survivor may call it, again if that
    // survivor was killed in it.
    //   is_dead(number)   whether the process of a cache is dead
    //   is_stored(block)  whether a pending block's offset is stored where others find it: the
    //                     process was killed before keep()
    // false: another live process is recovering them.
    template <typename IsDead, typename IsStored>
    bool recover(ThreadCache& cache,
                 CacheNumbers dead,
                 const IsDead& is_dead,
                 const IsStored& is_stored) const {
        auto& claim = control_.cache(dead.first).recoverer;
        std::uint64_t recoverer = claim.load(std::memory_order_acquire);
        if (recoverer != 0 && !is_dead(static_cast<CacheNumber>(recoverer - 1))) return false;
        if (!claim.compare_exchange_strong(recoverer, cache.number() + 1, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
            return false;
        }
        const AtWork<Atomic> at_work(control_, cache, order_all_);
        for_each(dead, [&](CacheNumber number, CacheRecord<Atomic>& record) {
            const std::uint64_t pending = record.pending.load(std::memory_order_relaxed);
            if (pending != 0 && is_stored(Offset{pending - 1})) control_.keep(number);
            large_.free_pending(number);
        });
        units_.visit_in_use([&](std::uint32_t unit) {
            UnitWord word = units_.word(unit);
            if (word.thief != 0 &&
                (word.is_being_stolen_by_any(dead) || word.is_held_by_any(dead))) {
                spans_.undo_theft(unit, word);
                word = units_.word(unit);
            }
            if (word.is_held_by_any(dead)) recover_unit(cache, unit, word);
            return false;
        });
        for_each(dead, [&](CacheNumber number, CacheRecord<Atomic>& record) {
            const std::uint64_t head = record.freed_to.load(std::memory_order_relaxed);
            if (head != 0) spans_.look_again(cache, static_cast<std::uint32_t>(head - 1));
            control_.keep(number);
            record.freed_to.store(0, std::memory_order_relaxed);
            record.is_at_work.store(
                0, std::memory_order_release);  // its spans, if any are left, may be
                                                // taken
        });
        units_.repair_bits();
        claim.store(0, std::memory_order_release);
        return true;
    }

private:
    // The rare cases of allocate(): a long block, or a large alignment. The cache is at work.
    [[nodiscard, gnu::noinline]] Offset allocate_rare(ThreadCache& cache,
                                                      std::uint64_t bytes,
                                                      std::uint64_t alignment) const {
        if (bytes > limit_bytes() || alignment > alignment_max) return no_block;
        if (bytes <= small_max && alignment <= unit_bytes) {
            return spans_.allocate_exactly(cache, class_with(bytes, alignment));
        }
        Offset block = large_.allocate(cache, bytes, alignment);
        if (block != no_block) return block;
        // Gives up the cache's spans; empty ones become units.
        if (spans_.let_go(cache)) block = large_.allocate(cache, bytes, alignment);
        for (std::uint32_t i = 0; i < Spans<Atomic>::thefts_max && block == no_block; ++i) {
            if (!spans_.steal_idle(cache)) break;
            block = large_.allocate(cache, bytes, alignment);
        }
        return block;
    }

    [[nodiscard]] static bool is_in_span(const UnitWord& word) noexcept {
        return word.state == UnitState::span || word.state == UnitState::span_part;
    }

    [[nodiscard]] static bool is_credible(std::uint32_t unit, const UnitWord& word) noexcept {
        return word.size_class < size_class_count && word.back <= unit;
    }

    // Spans begin at units, so a class whose blocks are a multiple of the alignment keeps it. The
    // largest class satisfies every such alignment.
    [[nodiscard]] static std::uint32_t class_with(std::uint64_t bytes,
                                                  std::uint64_t alignment) noexcept {
        std::uint32_t which = class_of(std::max(bytes, alignment));
        while (size_classes[which].block_bytes % alignment != 0) ++which;
        return which;
    }

    template <typename Visit>
    void for_each(CacheNumbers numbers, const Visit& visit) const {
        for (std::uint32_t i = 0; i < numbers.count; ++i) {
            visit(numbers.first + i, control_.cache(numbers.first + i));
        }
    }

    void recover_unit(ThreadCache& cache, std::uint32_t unit, UnitWord word) const {
        const CacheNumber dead = word.holder - 1;
        switch (word.state) {
            case UnitState::claimed:
                return units_.give_up_claimed(unit);
            case UnitState::opening:
                word.state = UnitState::freeing;
                units_.store(unit, word);
                return units_.give_up(cache, unit, dead);
            case UnitState::freeing:
                if (word.size_class == no_size_class) return units_.give_up(cache, unit, dead);
                return spans_.finish_closing(cache, unit, word.size_class, dead);
            case UnitState::span:
                return spans_.recover(cache, dead, unit, word.size_class);
            default:
                return;
        }
    }

    Control<Atomic> control_;
    Units<Atomic> units_;
    Spans<Atomic> spans_;
    LargeBlocks<Atomic> large_;
    IdleMemory<Atomic> idle_memory_;
    OrderAll order_all_;
};

}  // namespace acp::heap
