// SPDX-License-Identifier: BSD-3-Clause
// Room in a range of shared memory for what calls carry beside their slots: long lists of words and
// the contents of buffers. Calls of a ring end in the order in which they were posted, so the range
// is a circle: reservations are freed in the order in which they were made. Knows offsets only and
// touches no memory. One thread at a time, in the client.
// Tests: tests/unit/call/staging_test.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "base/assert.hpp"

namespace acp::call {

inline constexpr std::uint64_t staging_alignment = 64;

class Staging {
public:
    //   bytes  of the range; a multiple of staging_alignment, not 0
    explicit Staging(std::uint64_t bytes) noexcept : bytes_(bytes) {
        ACP_ASSERT(bytes != 0 && bytes % staging_alignment == 0);
    }

    // A reservation. `end` is what release() takes.
    struct StagedPiece {
        std::uint64_t offset;
        std::uint64_t end;
    };

    // Reserves contiguous room, aligned to staging_alignment. nullopt: there is none before earlier
    // reservations are released, or at all (bytes > range).
    //   bytes  any; 0 reserves nothing
    [[nodiscard]] std::optional<StagedPiece> reserve(std::uint64_t bytes) noexcept {
        if (bytes > bytes_) return std::nullopt;
        const std::uint64_t rounded =
            (bytes + staging_alignment - 1) / staging_alignment * staging_alignment;
        // An empty circle begins at its start again, so that a piece as long as the range fits.
        if (is_empty()) released_ = reserved_ = (reserved_ + bytes_ - 1) / bytes_ * bytes_;
        std::uint64_t offset = reserved_ % bytes_;
        std::uint64_t begin = reserved_;
        // A piece that would go beyond the end is at the start.
        if (rounded > bytes_ - offset) {
            begin += bytes_ - offset;
            offset = 0;
        }
        if (begin + rounded - released_ > bytes_) return std::nullopt;
        reserved_ = begin + rounded;
        return StagedPiece{offset, reserved_};
    }

    // Frees a piece and all that were reserved before it.   end  StagedPiece::end
    void release(std::uint64_t end) noexcept {
        ACP_ASSERT(end <= reserved_);
        if (end > released_) released_ = end;
    }

    // Frees all pieces.
    void clear() noexcept { released_ = reserved_; }

    [[nodiscard]] bool is_empty() const noexcept { return released_ == reserved_; }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    std::uint64_t bytes_;
    // Positions that only grow; a position modulo bytes_ is an offset.
    std::uint64_t reserved_ = 0;
    std::uint64_t released_ = 0;
};

}  // namespace acp::call
