// SPDX-License-Identifier: BSD-3-Clause
// Indexes the spans of a class that have room and no holder: two levels of bits over the units. A
// bit is a hint: a thread that takes it must test whether the span is there, and acquire it. Any
// thread of any process.
// Tests: tests/unit/heap/heap_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>

#include "heap/control.hpp"

namespace acp::heap {

template <template <class> class Atomic = std::atomic>
class RoomIndex {
public:
    // Which spans of a class: those that are worth taking (SizeClass::room), or
    // those that have a free block and are not.
    enum class List : std::uint32_t { several_blocks, few_blocks };

    RoomIndex(const Control<Atomic>& control, List list) noexcept
        : control_(control), first_(static_cast<std::uint32_t>(list) * size_class_count) {}

    void add(std::uint32_t size_class, std::uint32_t head) const noexcept {
        const std::uint32_t place = control_.room_place(head);
        set(control_.room(first_ + size_class, place / 64), place % 64);
        set(control_.room_summary(first_ + size_class, place / 64 / 64), place / 64 % 64);
    }

    // Whether add() has nothing to do.
    [[nodiscard, gnu::always_inline]] bool has(std::uint32_t size_class,
                                               std::uint32_t head) const noexcept {
        const std::uint32_t place = control_.room_place(head);
        const Word& word = control_.room(first_ + size_class, place / 64);
        const Word& summary = control_.room_summary(first_ + size_class, place / 64 / 64);
        // seq_cst: see set()
        return (word.load(std::memory_order_seq_cst) >> (place % 64) & 1) != 0 &&
               (summary.load(std::memory_order_seq_cst) >> (place / 64 % 64) & 1) != 0;
    }

    void remove(std::uint32_t size_class, std::uint32_t head) const noexcept {
        const std::uint32_t place = control_.room_place(head);
        clear(control_.room(first_ + size_class, place / 64), place % 64);
    }

    // Removes a bit: a span of this class may begin in the units_per_room_bit() units from the one
    // returned.
    //   note(unit)  called before the bit is removed
    template <typename Note>
    [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t size_class,
                                                    const Note& note) const noexcept {
        Word* const summaries = &control_.room_summary(first_ + size_class, 0);
        const std::uint32_t count = control_.summary_words();
        for (std::uint32_t i = 0; i < count; ++i) {
            auto& summary = summaries[i];
            // acquire, both: pairs with add()
            std::uint64_t words = summary.load(std::memory_order_acquire);
            for (; words != 0; words &= words - 1) {
                const auto which = static_cast<std::uint32_t>(std::countr_zero(words));
                const std::uint32_t word = i * 64 + which;
                auto& room = control_.room(first_ + size_class, word);
                std::uint64_t bits = room.load(std::memory_order_acquire);
                for (; bits != 0; bits &= bits - 1) {
                    const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits));
                    const std::uint32_t unit = (word * 64 + bit) * control_.units_per_room_bit();
                    note(unit);
                    if (clear(room, bit)) return unit;
                }
                // seq_cst, both: a bit that is set between the two is seen by the second one, or
                // its summary bit is set after
                clear(summary, which);
                if (room.load(std::memory_order_seq_cst) != 0) set(summary, which);
            }
        }
        return std::nullopt;
    }

private:
    using Word = typename Control<Atomic>::Word;

    static void set(Word& word, std::uint32_t bit) noexcept {
        const std::uint64_t mask = std::uint64_t{1} << bit;
        // seq_cst: partner is take(), which clears a summary bit, then loads the word
        if ((word.load(std::memory_order_seq_cst) & mask) == 0) {
            word.fetch_or(mask, std::memory_order_seq_cst);
        }
    }

    // Whether it was set.
    static bool clear(Word& word, std::uint32_t bit) noexcept {
        const std::uint64_t mask = std::uint64_t{1} << bit;
        return (word.fetch_and(~mask, std::memory_order_seq_cst) & mask) != 0;
    }

    const Control<Atomic>& control_;
    std::uint32_t first_;
};

}  // namespace acp::heap
