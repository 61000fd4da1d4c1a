// SPDX-License-Identifier: BSD-3-Clause
// The areas in which no unit is used, a bit each, and the search for runs of them: a search that
// fails reads 2 KiB for a heap of 16 GiB, where the bits of all units are 128 KiB. A bit is a hint.
// An area that is noted as free may have used units for a moment, and for longer if a process was
// killed; the search then rejects it by the units' bits. An area that is noted as busy may have no
// used unit only while a thread is between two instructions of giving up its last one; recovery of
// a killed process notes such areas as free. Any thread of any process.
// Tests: tests/unit/heap/free_areas_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "heap/bit_runs.hpp"
#include "heap/control.hpp"

namespace acp::heap {

template <template <class> class Atomic = std::atomic>
class FreeAreas {
public:
    explicit FreeAreas(const Control<Atomic>& control) noexcept : control_(control) {}

    [[nodiscard]] bool is_noted(std::uint32_t area) const noexcept {
        return (word_of(area).load(std::memory_order_seq_cst) & bit_of(area)) == 0;
    }

    // Called after a bit of the area's units was set.
    void note_busy(std::uint32_t area) const noexcept {
        // seq_cst, both: after the unit's bit; partner: note_free()
        if (is_noted(area)) word_of(area).fetch_or(bit_of(area), std::memory_order_seq_cst);
    }

    // Called after the last bit of the area's units was cleared.
    void note_free(std::uint32_t area) const noexcept {
        word_of(area).fetch_and(~bit_of(area), std::memory_order_seq_cst);
        // seq_cst, both: a thread that sets a unit's bit between the two either finds its area noted
        // as free, or its bit is seen here; partner: note_busy()
        if (control_.used(area).load(std::memory_order_seq_cst) != 0) note_busy(area);
    }

    // Calls visit(begin, end) for each run of `least` or more free areas from `first` on and before
    // `end`, in ascending order, until it returns true. A run is as long as it can be.
    //   first  < end
    //   least  >= 1
    template <typename Visit>
    void visit_runs(std::uint32_t first,
                    std::uint32_t end,
                    std::uint32_t least,
                    const Visit& visit) const {
        std::uint32_t begin = first;  // the first of the free areas right before `area`
        for (std::uint32_t area = first / word_bits * word_bits; area < end; area += word_bits) {
            const std::uint64_t free = free_from(area, first, end);
            const auto leading = static_cast<std::uint32_t>(std::countr_one(free));
            if (leading == word_bits) continue;
            if (area + leading >= begin + least && visit(begin, area + leading)) return;
            // Those that reach the word's end belong to the next word's run.
            const auto trailing = static_cast<std::uint32_t>(std::countl_one(free));
            begin = area + word_bits - trailing;
            const std::uint64_t inner = (free & (free + 1)) << trailing >> trailing;
            std::uint64_t places = least < word_bits ? runs_in(inner, least) : 0;
            while (places != 0) {
                const auto from = static_cast<std::uint32_t>(std::countr_zero(places));
                const auto areas = static_cast<std::uint32_t>(std::countr_one(inner >> from));
                if (visit(area + from, area + from + areas)) return;
                places &= ~mask_of(from, areas);
            }
        }
        if (begin + least <= end) visit(begin, end);
    }

private:
    using Word = typename Control<Atomic>::Word;

    [[nodiscard]] Word& word_of(std::uint32_t area) const noexcept {
        return control_.busy(area / word_bits);
    }

    [[nodiscard]] static std::uint64_t bit_of(std::uint32_t area) noexcept {
        return std::uint64_t{1} << (area % word_bits);
    }

    // Which of the 64 areas of a word, from `first` on and before `end`, are free, a bit each.
    [[nodiscard]] std::uint64_t free_from(std::uint32_t area,
                                          std::uint32_t first,
                                          std::uint32_t end) const noexcept {
        // relaxed: the units' words decide
        std::uint64_t free = ~word_of(area).load(std::memory_order_relaxed);
        if (first > area) free &= ~std::uint64_t{0} << (first - area);
        if (end - area < word_bits) free &= mask_of(0, end - area);
        return free;
    }

    const Control<Atomic>& control_;
};

}  // namespace acp::heap
