// SPDX-License-Identifier: BSD-3-Clause
// A path with a step before each access to the ring's memory, at which a child can be struck
// (support/struck_child.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "message/mapped_path.hpp"

#include "support/effort.hpp"
#include "support/stepped_atomic.hpp"

namespace acp::message {

// The victim is struck before each access, or before every stride-th one.
inline constexpr std::uint64_t stride = test::effort(std::uint64_t{1}, std::uint64_t{29});

// Word by word, with a step before each.
inline void copy_in_steps(char* target, const void* source, std::uint64_t bytes) {
    const char* const from = static_cast<const char*>(source);
    for (std::uint64_t i = 0; i < bytes; i += 8) {
        test::step();
        std::memcpy(target + i, from + i, std::min<std::uint64_t>(8, bytes - i));
    }
}

// A path that copies word by word, and can be struck before each.
struct SteppedPath : MappedPath<test::SteppedAtomic> {
    using MappedPath<test::SteppedAtomic>::MappedPath;

    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) const noexcept {
        if (source != room(offset)) copy_in_steps(room(offset), source, bytes);
    }
};

}  // namespace acp::message
