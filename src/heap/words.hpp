// SPDX-License-Identifier: BSD-3-Clause
// The layout of all words of one heap that the processes of a node share: its management
// (heap/control.hpp), the thread caches of all processes (heap/cache_places.hpp), a bit for each
// process whose caches were recovered, the loans to processes (heap/loans.hpp), and the bits of the
// containers' blocks (heap/owned_blocks.hpp). Constants of a heap; any thread.
// Tests: tests/unit/heap/cache_places_test.cpp.
#pragma once

#include <cstdint>

#include "heap/cache_places.hpp"
#include "heap/control.hpp"
#include "heap/loans.hpp"
#include "heap/owned_blocks.hpp"

namespace acp::heap {

class WordsLayout {
public:
    //   areas      the heap's limit: 1 or more
    //   processes  its users: 1 .. caches_max / caches_per_process
    //   loans      the most at the same time
    constexpr WordsLayout(std::uint32_t areas,
                          std::uint32_t processes,
                          std::uint32_t loans) noexcept
        : shape_{areas, processes * caches_per_process},
          caches_at_(Control<>::bytes(shape_)),
          gone_at_(caches_at_ + CachePlaces::bytes(processes)),
          loans_at_(gone_at_ + (processes + 63) / 64 * sizeof(std::uint64_t)),
          loans_(loans),
          owned_at_(loans_at_ + Loans<>::bytes(loans)),
          bytes_(owned_at_ + OwnedBlocks::bytes(areas)) {}

    [[nodiscard]] constexpr HeapShape shape() const noexcept { return shape_; }

    // Offsets in bytes from the start of the words, where Control is.
    [[nodiscard]] constexpr std::uint64_t caches_at() const noexcept { return caches_at_; }

    [[nodiscard]] constexpr std::uint64_t gone_at() const noexcept { return gone_at_; }

    [[nodiscard]] constexpr std::uint64_t loans_at() const noexcept { return loans_at_; }

    [[nodiscard]] constexpr std::uint32_t loans() const noexcept { return loans_; }

    [[nodiscard]] constexpr std::uint64_t owned_at() const noexcept { return owned_at_; }

    // The bytes of all words.
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept { return bytes_; }

private:
    HeapShape shape_;
    std::uint64_t caches_at_;
    std::uint64_t gone_at_;
    std::uint64_t loans_at_;
    std::uint32_t loans_;
    std::uint64_t owned_at_;
    std::uint64_t bytes_;
};

}  // namespace acp::heap
