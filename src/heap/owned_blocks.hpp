// SPDX-License-Identifier: BSD-3-Clause
// Which blocks of a heap are parts of containers, so that a program that frees one by its address is refused: a bit for each place where
// a block can begin. A bit for each unit says whether one of its blocks was a container's at some time; only then the others are
// read, so that a heap without containers has no memory for them. Freeing a block leaves its bit; whoever allocates it next sets the bit
// as it needs it, so containers that free and allocate change no bits. Memory of zeros means that no block is a container's. Any thread
// of any process; a block's bit is changed by whoever has allocated it, before others can find it.
// A separate block belongs to a container or a team too, but its address travels in requests of other processes, which free it by that.
// It has at least two granules, and the bit of the second one, where no block begins, tells it from the parts that a container
// alone frees.
// Tests: tests/unit/heap/owned_blocks_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/control.hpp"
#include "heap/offset.hpp"
#include "heap/size_classes.hpp"

namespace acp::heap {

class OwnedBlocks {
public:
    //   memory  bytes(areas), zero at first, aligned to 8
    OwnedBlocks(char* memory, std::uint32_t areas) noexcept
        : units_(reinterpret_cast<std::atomic<std::uint64_t>*>(memory)), places_(units_ + areas) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t areas) noexcept {
        return areas * (1 + std::uint64_t{area_units} * words_per_unit) * sizeof(std::uint64_t);
    }

    // The least bytes of a separate block.
    static constexpr std::uint64_t separate_least = 2 * granule_bytes;

    // The block is a part of a container from now on. Called before others can find it.
    //   bytes  that it was allocated for
    void add(Offset block, std::uint64_t bytes) const noexcept {
        note_unit(block);
        set(block);
        if (bytes > granule_bytes) reset(block + granule_bytes);
    }

    // The block is a separate one from now on. Called before others can find it.
    //   block  of separate_least bytes or more
    void add_separate(Offset block) const noexcept {
        note_unit(block);
        set(block);
        set(block + granule_bytes);
    }

    // The block is the program's, if it was a container's before.
    void remove(Offset block) const noexcept {
        if (is_unit_noted(block)) reset(block);
    }

    [[nodiscard]] bool contains(Offset block) const noexcept {
        return is_unit_noted(block) && is_set(block);
    }

    //   block  of separate_least bytes or more
    [[nodiscard]] bool is_separate(Offset block) const noexcept {
        return contains(block) && is_set(block + granule_bytes);
    }

    // Whether a block of the unit was a container's at some time, or note_unit() was called.
    [[nodiscard]] bool is_unit_noted(Offset block) const noexcept {
        return (units_[block / area_bytes].load(std::memory_order_relaxed) & unit_bit(block)) != 0;
    }

    void note_unit(Offset block) const noexcept {
        if (!is_unit_noted(block))
            units_[block / area_bytes].fetch_or(unit_bit(block), std::memory_order_relaxed);
    }

private:
    [[nodiscard]] static std::uint64_t unit_bit(Offset block) noexcept {
        return std::uint64_t{1} << (block / unit_bytes % area_units);
    }

    // relaxed, all: who frees the block learnt of it from whoever put it into the container

    [[nodiscard]] bool is_set(Offset block) const noexcept {
        return (place(block).load(std::memory_order_relaxed) & bit_of(block)) != 0;
    }

    void set(Offset block) const noexcept {
        if (!is_set(block)) place(block).fetch_or(bit_of(block), std::memory_order_relaxed);
    }

    void reset(Offset block) const noexcept {
        if (is_set(block)) place(block).fetch_and(~bit_of(block), std::memory_order_relaxed);
    }

    [[nodiscard]] static std::uint64_t bit_of(Offset block) noexcept {
        return std::uint64_t{1} << (block / granule_bytes % 64);
    }

    [[nodiscard]] std::atomic<std::uint64_t>& place(Offset block) const noexcept {
        return places_[block / granule_bytes / 64];
    }

    std::atomic<std::uint64_t>* units_;
    std::atomic<std::uint64_t>* places_;
};

}  // namespace acp::heap
