// SPDX-License-Identifier: BSD-3-Clause
// The name of a block in a heap, and the results of freeing one. Values; any thread.
#pragma once

#include <cstdint>

#include "heap/size_classes.hpp"

namespace acp::heap {

// The offset of a block in bytes from the start of the heap's blocks.
using Offset = std::uint64_t;
inline constexpr Offset no_block = ~Offset{0};

[[nodiscard]] constexpr Offset offset_of(std::uint32_t unit) noexcept {
    return Offset{unit} << unit_shift;
}

enum class Freed : std::uint8_t {
    done,
    not_allocated,  // freed before, or never allocated
    not_a_block,    // inside a block, or where no block can begin
    outside,        // behind the end of the heap
    of_container,  // a part of a container, which only the container frees: returned by the layer above
    smashed,       // the heap's words for it contradict each other: see heap/walk.hpp
};

}  // namespace acp::heap
