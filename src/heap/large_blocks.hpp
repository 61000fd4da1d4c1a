// SPDX-License-Identifier: BSD-3-Clause
// Large blocks: a run of units each. The contract is Heap's (heap/heap.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/control.hpp"
#include "heap/offset.hpp"
#include "heap/thread_cache.hpp"
#include "heap/unit_word.hpp"
#include "heap/units.hpp"

namespace acp::heap {

template <template <class> class Atomic = std::atomic>
class LargeBlocks {
public:
    //   control, units  must outlive this
    LargeBlocks(const Control<Atomic>& control, const Units<Atomic>& units) noexcept
        : control_(control), units_(units) {}

    // no_block: there is no such run.
    [[nodiscard]] Offset allocate(ThreadCache& cache,
                                  std::uint64_t bytes,
                                  std::uint64_t alignment) const {
        control_.keep(cache.number());
        const auto units = static_cast<std::uint32_t>((bytes + unit_bytes - 1) >> unit_shift);
        const auto apart =
            static_cast<std::uint32_t>(alignment > unit_bytes ? alignment >> unit_shift : 1);
        const std::uint32_t head =
            units_.claim(cache, units != 0 ? units : 1, apart, no_size_class);
        if (head == no_unit) return no_block;
        const std::uint32_t whole = units_.word(head).units;
        for (std::uint32_t i = 1; i < whole; ++i) {
            units_.store(head + i, {UnitState::large_part, 0, 0, 0, 0});
        }
        control_.cache(cache.number())
            .pending.store(offset_of(head) + 1, std::memory_order_relaxed);
        units_.store(head, {UnitState::large, 0, 0, 0, whole});
        return offset_of(head);
    }

    //   head, word  the unit in which the block would begin, and its word
    Freed free(ThreadCache& cache, std::uint32_t head, UnitWord word, Offset block) const {
        const Freed freed = mark_as_freeing(cache, head, word, block);
        if (freed == Freed::done) units_.give_up(cache, head, cache.number());
        return freed;
    }

    // Frees a dead cache's pending large block: marks it as being freed.
    void free_pending(CacheNumber dead) const noexcept {
        CacheRecord<Atomic>& record = control_.cache(dead);
        const std::uint64_t pending = record.pending.load(std::memory_order_relaxed);
        if (pending == 0 || (pending - 1) % unit_bytes != 0) return;
        const auto unit = static_cast<std::uint32_t>((pending - 1) >> unit_shift);
        UnitWord word = units_.word(unit);
        if (word.state != UnitState::large) return;
        word.state = UnitState::freeing;
        word.size_class = no_size_class;
        word.holder = dead + 1;
        units_.store(unit, word);
        record.pending.store(0, std::memory_order_relaxed);
    }

private:
    // Marks the head of an allocated block: its units belong to the cache from then on.
    Freed mark_as_freeing(ThreadCache& cache,
                          std::uint32_t head,
                          UnitWord word,
                          Offset block) const {
        if (block != offset_of(head)) return Freed::not_a_block;
        std::uint64_t expected = word.packed();
        word.state = UnitState::freeing;
        word.size_class = no_size_class;
        word.holder = cache.number() + 1;
        if (!control_.unit(head).compare_exchange_strong(
                expected, word.packed(), std::memory_order_acq_rel, std::memory_order_relaxed)) {
            return Freed::not_allocated;  // another thread frees it
        }
        control_.keep(cache.number());  // it may be the cache's last block
        return Freed::done;
    }

    const Control<Atomic>& control_;
    const Units<Atomic>& units_;
};

}  // namespace acp::heap
