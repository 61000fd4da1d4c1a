// SPDX-License-Identifier: BSD-3-Clause
// Records which blocks of a heap are parts of containers, so that a program that frees one by its
// address is refused: a bit for each place where a block can begin. A bit for each unit says
// whether one of its blocks ever belonged to a container; only then the others are read, so that a
// heap without containers takes no memory for them. Freeing a block leaves its bit; the next
// allocation sets the bit as needed, so containers that free and allocate change no bits. Zeros
// mean that no block belongs to a container. Any thread of any process; the thread that has
// allocated a block changes its bit, before other threads can find the block. A separate block
// belongs to a container or a team too, but its address travels in requests of other processes,
// which free the block by it. It has at least two granules, and the bit of the second one, where no
// block begins, distinguishes it from parts, which the container alone frees.
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

    // Makes the block a part of a container. Called before other threads can find it.
    //   bytes  the requested size of the block
    void add(Offset block, std::uint64_t bytes) const noexcept {
        note_unit(block);
        set(block);
        if (bytes > granule_bytes) reset(block + granule_bytes);
    }

    // Makes the block a separate one. Called before other threads can find it.
    //   block  of separate_least bytes or more
    void add_separate(Offset block) const noexcept {
        note_unit(block);
        set(block);
        set(block + granule_bytes);
    }

    // Makes the block the program's, if it was a container's before.
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

    // Whether a block of the unit ever belonged to a container, or note_unit() was called.
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

    // relaxed, all: a thread that frees the block got its offset from the thread that put it into
    // the container

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
