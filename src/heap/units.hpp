// SPDX-License-Identifier: BSD-3-Clause
// Runs of units: found by bits, claimed unit by unit, given up from the last unit to the first. The
// memory of a free area of 1 MiB is given back to the system, except for a few areas that are kept
// for the next claim: at once, or later by IdleMemory. Any thread of any process; a thread that is
// killed or stopped at any point does not prevent others from claiming other units, and recover()
// finishes its work.
// Tests: tests/unit/heap/heap_test.cpp, tests/unit/heap/kill_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "heap/bit_runs.hpp"
#include "heap/control.hpp"
#include "heap/free_areas.hpp"
#include "heap/thread_cache.hpp"

namespace acp::heap {

// Gives whole areas of the heap back to the system: the bytes read as zero afterwards.
struct GiveBack {
    void (*function)(void* context, std::uint64_t offset, std::uint64_t bytes) noexcept = nullptr;
    void* context = nullptr;
};

template <template <class> class Atomic = std::atomic>
class Units {
public:
    //   control  must outlive this
    Units(const Control<Atomic>& control, GiveBack give_back) noexcept
        : control_(control), free_areas_(control), give_back_(give_back) {}

    // Claims a run, and marks its head as opening: the caller then writes the parts and the head.
    //   units       >= 1
    //   alignment   a power of two that divides the head's number
    //   size_class  the span's, or no_size_class
    // no_unit: there is no such run.
    [[nodiscard]] std::uint32_t claim(ThreadCache& cache,
                                      std::uint32_t units,
                                      std::uint32_t alignment,
                                      std::uint32_t size_class) const {
        const std::uint32_t areas = control_.shape().areas;
        if (units > control_.shape().units()) return no_unit;
        std::uint32_t& from = cache.search_from(units);
        const std::uint32_t start = std::min(from, areas - 1);
        const Run run{units, alignment};
        std::uint32_t head = claim_between(cache, run, start, areas);
        if (head == no_unit && start != 0) head = claim_between(cache, run, 0, start);
        if (head == no_unit) return no_unit;
        from = head / area_units;
        store(head, {UnitState::opening, size_class, 0, cache.number() + 1, units});
        return head;
    }

    // Gives up a run whose head is marked as freeing by `holder`.
    void give_up(ThreadCache& cache, std::uint32_t head, CacheNumber holder) const {
        const UnitWord what = word(head);
        std::uint32_t end = head + 1;
        while (end < head + what.units && is_part_of(end, head, what, holder)) ++end;
        for (std::uint32_t unit = end; unit-- > head;) {
            // release: writes to the unit and its blocks come before the next claim; partner:
            // try_claim()
            control_.unit(unit).store(0, std::memory_order_release);
        }
        clear_used(head, end - head);
        // The lowest place first: so long-lived blocks gather there, and whole areas become free
        // behind them.
        std::uint32_t& from = cache.search_from(what.units);
        from = std::min(from, head / area_units);
        for (std::uint32_t area = head / area_units; area <= (end - 1) / area_units; ++area) {
            note_idle(cache, area);
        }
    }

    // From now on give_up() leaves the memory of idle areas to IdleMemory.
    void give_back_later() noexcept { gives_back_later_ = true; }

    // Whether more areas are idle than are kept.
    [[nodiscard]] bool has_to_give_back() const noexcept {
        // Signed: the count may have fallen below zero, if an area was subtracted twice.
        return static_cast<std::int64_t>(control_.idle_areas().load(std::memory_order_relaxed)) >
               static_cast<std::int64_t>(idle_areas_kept);
    }

    // Gives the memory of an area back to the system. false: a unit of it is in use.
    bool give_back(const ThreadCache& cache, std::uint32_t area) const {
        std::uint64_t none = 0;
        const std::uint32_t head = area * area_units;
        if (!control_.used(area).compare_exchange_strong(
                none, ~std::uint64_t{0}, std::memory_order_acq_rel, std::memory_order_relaxed)) {
            return false;
        }
        note_in_use(area, true);
        if (!try_claim(cache, head, area_units)) return false;
        give_back_.function(give_back_.context, std::uint64_t{area} * area_bytes, area_bytes);
        control_.backed(area / 64).fetch_and(~(std::uint64_t{1} << (area % 64)),
                                             std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < area_units; ++i) {
            control_.unit(head + i).store(0, std::memory_order_release);
        }
        clear_used(head, area_units);
        return true;
    }

    // Clears the bits of units and areas that are free: a killed process may have set bits of units
    // without claiming them, or have given units up without clearing their bits or their area's.
    // Notes the spans that caches hold: it may have cleared a bit that another thread needs.
    void repair_bits() const noexcept {
        visit_in_use([this](std::uint32_t unit) {
            if (is_held(unit)) note_held(unit);
            const std::uint64_t mask = std::uint64_t{1} << (unit % area_units);
            const auto& used = control_.used(unit / area_units);
            if ((used.load(std::memory_order_relaxed) & mask) == 0) return false;
            if (control_.unit(unit).load(std::memory_order_acquire) == 0) clear_used(unit, 1);
            return false;
        });
        for (std::uint32_t area = 0; area < control_.shape().areas; ++area) {
            if (free_areas_.is_noted(area) ||
                control_.used(area).load(std::memory_order_relaxed) != 0) {
                continue;
            }
            free_areas_.note_free(area);
        }
    }

    // Gives up a unit that a killed cache had claimed for a run that it has not begun to open.
    void give_up_claimed(std::uint32_t unit) const noexcept {
        control_.unit(unit).store(0, std::memory_order_release);
        clear_used(unit, 1);
    }

    // Calls visit(unit) for each unit that may be in use, until it returns true.
    template <typename Visit>
    void visit_in_use(const Visit& visit) const {
        for (std::uint32_t area = 0; area < control_.shape().areas; ++area) {
            if (control_.is_untouched(area)) continue;
            for (std::uint32_t i = 0; i < area_units; ++i) {
                if (visit(area * area_units + i)) return;
            }
        }
    }

    // Calls visit(unit) for each span that a cache may hold, and forgets those that none holds then.
    template <typename Visit>
    void visit_held(const Visit& visit) const {
        for (std::uint32_t i = 0; i < (control_.shape().areas + 63) / 64; ++i) {
            // acquire, both: partner is note_held()
            std::uint64_t areas = control_.held_areas(i).load(std::memory_order_acquire);
            for (; areas != 0; areas &= areas - 1) {
                const auto area = i * 64 + static_cast<std::uint32_t>(std::countr_zero(areas));
                std::uint64_t units = control_.held(area).load(std::memory_order_acquire);
                for (; units != 0; units &= units - 1) {
                    const auto unit =
                        area * area_units + static_cast<std::uint32_t>(std::countr_zero(units));
                    visit(unit);
                    forget_held(unit);
                }
                forget_held_area(area);
            }
        }
    }

    // Notes that a cache holds the span. Called after the span's word was stored.
    void note_held(std::uint32_t head) const noexcept {
        const std::uint32_t area = head / area_units;
        set_bit(control_.held(area), head % area_units);
        set_bit(control_.held_areas(area / 64), area % 64);
    }

    [[nodiscard]] UnitWord word(std::uint32_t unit) const noexcept {
        return UnitWord::unpacked(control_.unit(unit).load(std::memory_order_acquire));
    }

    void store(std::uint32_t unit, UnitWord word) const noexcept {
        // release: writes before the change of the unit's state; partner: word()
        control_.unit(unit).store(word.packed(), std::memory_order_release);
    }

private:
    using Word = typename Control<Atomic>::Word;

    // seq_cst, all: a thread that notes a span stores the word that the bit stands for, then reads the
    // bit; a thread that forgets it clears the bit, then reads that word again.
    static void set_bit(Word& bits, std::uint32_t place) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << place;
        if ((bits.load(std::memory_order_seq_cst) & bit) == 0)
            bits.fetch_or(bit, std::memory_order_seq_cst);
    }

    static void clear_bit(Word& bits, std::uint32_t place) noexcept {
        bits.fetch_and(~(std::uint64_t{1} << place), std::memory_order_seq_cst);
    }

    [[nodiscard]] bool is_held(std::uint32_t unit) const noexcept {
        return UnitWord::unpacked(control_.unit(unit).load(std::memory_order_seq_cst)).holder != 0;
    }

    // Clears the bit of a span that no cache holds.
    void forget_held(std::uint32_t unit) const noexcept {
        if (is_held(unit)) return;
        clear_bit(control_.held(unit / area_units), unit % area_units);
        if (is_held(unit)) note_held(unit);
    }

    // Clears the bit of an area without noted spans.
    void forget_held_area(std::uint32_t area) const noexcept {
        const Word& noted = control_.held(area);
        if (noted.load(std::memory_order_seq_cst) != 0) return;
        Word& areas = control_.held_areas(area / 64);
        clear_bit(areas, area % 64);
        if (noted.load(std::memory_order_seq_cst) != 0) set_bit(areas, area % 64);
    }

    // Empty areas that keep their memory.
    static constexpr std::uint64_t idle_areas_kept = 8;

    std::uint32_t claim_in_area(const ThreadCache& cache,
                                std::uint32_t area,
                                std::uint32_t units,
                                std::uint32_t alignment) const {
        if (alignment > area_units && area % (alignment / area_units) != 0) return no_unit;
        auto& used = control_.used(area);
        std::uint64_t bits = used.load(std::memory_order_relaxed);
        while (true) {
            const std::uint64_t places = runs_in(~bits, units) & aligned_places(alignment);
            if (places == 0) return no_unit;
            const auto first = static_cast<std::uint32_t>(std::countr_zero(places));
            const std::uint64_t mask = mask_of(first, units);
            if (!used.compare_exchange_weak(bits, bits | mask, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
                continue;
            }
            note_in_use(area, bits == 0);
            const std::uint32_t head = area * area_units + first;
            if (try_claim(cache, head, units)) {
                note_claimed(area, mask);
                return head;
            }
            bits = used.load(std::memory_order_relaxed);
        }
    }

    // The run that is searched.
    struct Run {
        std::uint32_t units;
        std::uint32_t alignment;  // divides the head's number

        // Of a run that begins with an area: those that it fills, and those of which it has units.
        [[nodiscard]] std::uint32_t whole_areas() const noexcept { return units / area_units; }

        [[nodiscard]] std::uint32_t areas() const noexcept {
            return (units + area_units - 1) / area_units;
        }
    };

    // Claims a run that begins in one of these areas. The bits of each area are read once.
    //   end  > first
    std::uint32_t claim_between(const ThreadCache& cache,
                                const Run& run,
                                std::uint32_t first,
                                std::uint32_t end) const {
        if (run.units > area_units) return claim_areas(cache, run, first, end);
        const std::uint64_t aligned = aligned_places(run.alignment);
        for (std::uint32_t area = first; area < end; ++area) {
            const std::uint64_t used = control_.used(area).load(std::memory_order_relaxed);
            if ((runs_in(~used, run.units) & aligned) == 0) continue;
            const std::uint32_t head = claim_in_area(cache, area, run.units, run.alignment);
            if (head != no_unit) return head;
        }
        return no_unit;
    }

    // Claims a run longer than an area, which begins with one.
    std::uint32_t claim_areas(const ThreadCache& cache,
                              const Run& run,
                              std::uint32_t first,
                              std::uint32_t end) const {
        const std::uint32_t areas = control_.shape().areas;
        std::uint32_t head = no_unit;
        free_areas_.visit_runs(first, std::min(areas, end - 1 + run.areas()), run.whole_areas(),
                               [&](std::uint32_t begin, std::uint32_t free_until) {
                                   head = claim_in_run(cache, run, begin, free_until);
                                   return head != no_unit;
                               });
        return head;
    }

    // Claims such a run in areas that were free a moment ago; its last units may be in the area
    // behind them.
    std::uint32_t claim_in_run(const ThreadCache& cache,
                               const Run& run,
                               std::uint32_t begin,
                               std::uint32_t free_until) const {
        const std::uint32_t apart =
            std::max(run.alignment / area_units, 1U);  // areas between two possible starts
        while (true) {
            begin = (begin + apart - 1) & ~(apart - 1);
            if (begin + run.whole_areas() > free_until) return no_unit;
            if (begin + run.areas() > control_.shape().areas) return no_unit;
            const std::uint32_t last = begin + run.areas() - 1;
            std::uint32_t next = last + 1;
            const std::uint32_t head = is_free(last, mask_in(begin, run.units, last))
                                           ? claim_at(cache, begin, run.units, next)
                                           : no_unit;
            if (head != no_unit) return head;
            begin = next;
        }
    }

    // Claims a run from the start of an area, whose bits were clear a moment ago.
    //   next  after no_unit: the first area where a run may begin
    std::uint32_t claim_at(const ThreadCache& cache,
                           std::uint32_t begin,
                           std::uint32_t units,
                           std::uint32_t& next) const {
        next = mark_used(begin, units) + 1;
        const std::uint32_t end = begin + (units + area_units - 1) / area_units;
        if (next <= end) return no_unit;
        next = begin + 1;
        const std::uint32_t head = begin * area_units;
        if (!try_claim(cache, head, units)) return no_unit;
        for (std::uint32_t area = begin; area < end; ++area)
            note_claimed(area, mask_in(begin, units, area));
        return head;
    }

    // The units of `area` in a run of `units` units from the start of area `begin`.
    [[nodiscard]] static constexpr std::uint64_t mask_in(std::uint32_t begin,
                                                         std::uint32_t units,
                                                         std::uint32_t area) noexcept {
        return mask_of(0, std::min(units - (area - begin) * area_units, area_units));
    }

    [[nodiscard]] bool is_free(std::uint32_t area, std::uint64_t mask) const noexcept {
        return (control_.used(area).load(std::memory_order_relaxed) & mask) == 0;
    }

    // Sets the bits of a run that were clear a moment ago. Returns the area behind the run; or,
    // without setting any, the first area of the run in which one is set already.
    [[nodiscard]] std::uint32_t mark_used(std::uint32_t begin, std::uint32_t units) const noexcept {
        const std::uint32_t end = begin + (units + area_units - 1) / area_units;
        for (std::uint32_t area = begin; area < end; ++area) {
            const std::uint64_t mask = mask_in(begin, units, area);
            auto& used = control_.used(area);
            std::uint64_t bits = used.load(std::memory_order_relaxed);
            bool is_taken = false;
            while (!is_taken && (bits & mask) == 0) {
                is_taken = used.compare_exchange_weak(bits, bits | mask, std::memory_order_acq_rel,
                                                      std::memory_order_relaxed);
            }
            if (!is_taken) {
                clear_used(begin * area_units, (area - begin) * area_units);
                return area;
            }
            note_in_use(area, bits == 0);
        }
        return end;
    }

    // Claims for the cache the units of a run whose bits were clear. false: some were in use, and
    // none is claimed.
    bool try_claim(const ThreadCache& cache,
                   std::uint32_t head,
                   std::uint32_t units) const noexcept {
        const std::uint64_t mine =
            UnitWord{UnitState::claimed, 0, 0, cache.number() + 1, 0}.packed();
        for (std::uint32_t i = 0; i < units; ++i) {
            std::uint64_t expected = 0;
            // seq_cst: partners are the give_up() of the unit, and repair_bits()
            if (control_.unit(head + i).compare_exchange_strong(
                    expected, mine, std::memory_order_seq_cst, std::memory_order_relaxed)) {
                continue;
            }
            // The unit is in use though its bit was clear, for a moment (repair_bits()): the bit,
            // which is set now, stays.
            for (std::uint32_t j = 0; j < units; ++j) {
                if (j < i) control_.unit(head + j).store(0, std::memory_order_release);
                if (j != i) clear_used(head + j, 1);
            }
            return false;
        }
        return true;
    }

    [[nodiscard]] bool is_part_of(std::uint32_t unit,
                                  std::uint32_t head,
                                  const UnitWord& what,
                                  CacheNumber holder) const noexcept {
        const UnitWord part = word(unit);
        switch (part.state) {
            case UnitState::claimed:
                return part.is_held_by(holder);
            case UnitState::span_part:
                return part.back == unit - head && part.size_class == what.size_class;
            case UnitState::large_part:
                return true;  // the last parts are given up first, so no other block's part precedes one of ours
            default:
                return false;
        }
    }

    // Clears the bits of units that are free, or were a moment ago: another thread may have cleared
    // a bit before (repair_bits()), and the unit may be claimed again since.
    void clear_used(std::uint32_t head, std::uint32_t units) const noexcept {
        for (std::uint32_t done = 0; done < units;) {
            const std::uint32_t area = (head + done) / area_units;
            const std::uint32_t first = (head + done) % area_units;
            const std::uint32_t here = std::min(units - done, area_units - first);
            clear_used_of(area, mask_of(first, here));
            done += here;
        }
    }

    void clear_used_of(std::uint32_t area, std::uint64_t mask) const noexcept {
        while (mask != 0) {
            // seq_cst, like the loads after it; partner: note_claimed(), which loads the bits after
            // the unit was claimed
            const std::uint64_t before =
                control_.used(area).fetch_and(~mask, std::memory_order_seq_cst);
            if ((before & ~mask) == 0) free_areas_.note_free(area);
            const std::uint64_t claimed = claimed_of(area, mask);
            if (claimed == 0) return;
            note_claimed(area, claimed);
            mask = claimed & ~claimed_of(area, claimed);  // given up since
        }
    }

    // The units of the mask that are not free.
    [[nodiscard]] std::uint64_t claimed_of(std::uint32_t area, std::uint64_t mask) const noexcept {
        std::uint64_t claimed = 0;
        for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(rest));
            const std::uint64_t word =
                control_.unit(area * area_units + bit).load(std::memory_order_seq_cst);
            if (word != 0) claimed |= std::uint64_t{1} << bit;
        }
        return claimed;
    }

    // Called before a unit is claimed: Control::is_untouched() relies on it.
    //   was_idle  no unit of the area was in use before
    void note_in_use(std::uint32_t area, bool was_idle) const noexcept {
        free_areas_.note_busy(area);
        const std::uint64_t mask = std::uint64_t{1} << (area % 64);
        auto& backed = control_.backed(area / 64);
        if ((backed.load(std::memory_order_relaxed) & mask) == 0) {
            backed.fetch_or(mask, std::memory_order_relaxed);
        } else if (was_idle && control_.idle_areas().load(std::memory_order_relaxed) != 0) {
            control_.idle_areas().fetch_add(~std::uint64_t{0}, std::memory_order_relaxed);
        }
    }

    // Called after units of a run were claimed, whose bits were set before: sets them again if a
    // thread that considered the run free has cleared them since.
    void note_claimed(std::uint32_t area, std::uint64_t mask) const noexcept {
        auto& used = control_.used(area);
        if ((used.load(std::memory_order_seq_cst) & mask) == mask) [[likely]]
            return;
        used.fetch_or(mask, std::memory_order_seq_cst);
        note_in_use(area, false);
    }

    // Called after units of an area were given up.
    void note_idle(const ThreadCache& cache, std::uint32_t area) const {
        if (control_.used(area).load(std::memory_order_relaxed) != 0) return;
        control_.idle_areas().fetch_add(1, std::memory_order_relaxed);
        if (!gives_back_later_ && has_to_give_back()) (void)give_back(cache, area);
    }

    const Control<Atomic>& control_;
    FreeAreas<Atomic> free_areas_;
    GiveBack give_back_;
    bool gives_back_later_ = false;
};

}  // namespace acp::heap
