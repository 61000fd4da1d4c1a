// SPDX-License-Identifier: BSD-3-Clause
// Memory that layers above keep for each process of a node in the node segment, beside the starter memory of the users. A
// layer claims a range by one row of the table below; it then has a place in the segment of every node
// (Segment::claimed) and a global address (local::Space::claimed_address) that every process of the job can use from the
// first meeting on. Its pages are zero at the start of a job, are taken when they are first touched, and keep their
// content from one epoch to the next: whoever claims a range sets it up. What it holds is its owner's business.
// Tests: tests/unit/node/claims_test.cpp, tests/unit/local/space_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace acp::node {

enum class Claim : std::uint32_t { fetched_words, local_ends };

struct ClaimedRange {
    std::string_view name;    // what the bytes hold, for acpinfo
    std::uint64_t bytes = 0;  // of each process; a multiple of 64
};

// In the order of Claim.
inline constexpr std::array<ClaimedRange, 2> claimed_ranges{{
    {"old values of acp_fetch_...", 4096},
    {"bytes of acp_put and acp_get on their way", 64 * 256 + 32 * 4096},
}};

inline constexpr std::uint64_t claim_alignment = 64;

// Where a range begins, from the start of what is claimed for a process.
[[nodiscard]] constexpr std::uint64_t claim_offset(Claim claim) noexcept {
    std::uint64_t offset = 0;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(claim); ++i) {
        offset += claimed_ranges[i].bytes;
    }
    return offset;
}

[[nodiscard]] constexpr std::uint64_t claim_bytes(Claim claim) noexcept {
    return claimed_ranges[static_cast<std::uint32_t>(claim)].bytes;
}

// Of all ranges of one process.
inline constexpr std::uint64_t claimed_bytes = [] {
    std::uint64_t bytes = 0;
    for (const ClaimedRange& range : claimed_ranges) bytes += range.bytes;
    return bytes;
}();

static_assert([] {
    for (const ClaimedRange& range : claimed_ranges) {
        if (range.bytes == 0 || range.bytes % claim_alignment != 0) return false;
    }
    return true;
}());

}  // namespace acp::node
