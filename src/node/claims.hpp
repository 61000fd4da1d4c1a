// SPDX-License-Identifier: BSD-3-Clause
// Memory that layers above keep for each process of a node in the node segment, beside the users'
// starter memory. A layer states a range as a constant ClaimedRange. The process that makes the
// segment passes the ranges of all layers (claims/library_claims.hpp) to Segment::create(), which
// places them and keeps their places in the shape. A range then has a place in the segment of every
// node (Segment::claimed), and a global address (local::Space::claimed_address) that every process
// of the job can use from the first meeting on. Its length may depend on the job's shape. Its pages
// are zero at the start of a job, are taken when they are first touched, and keep their content
// from one epoch to the next: the layer that claims a range initializes it, and alone defines its
// content.
// A range without an address is only for processes that have the segment mapped: for data that no
// command may write, and data whose size may differ between nodes.
// Tests: tests/unit/node/claims_test.cpp, tests/unit/local/space_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace acp::node {

struct Shape;

inline constexpr std::uint64_t claim_alignment = 64;

struct ClaimedRange {
    std::string_view name;  // what the bytes hold; no other range has this name
    // Bytes per process in a job of this shape; 0: this job needs none.
    std::uint64_t (*bytes)(const Shape& shape);
    // alignment in the segment and of the address: a power of two, claim_alignment .. 4096
    std::uint64_t alignment = claim_alignment;
    bool has_address = true;  // then its size is the same on all nodes of a job

    // The number under which a segment keeps its place: a hash of the name (FNV-1a).
    [[nodiscard]] constexpr std::uint32_t number() const noexcept {
        std::uint32_t hash = 0x811c9dc5U;
        for (const char letter : name) {
            hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193U;
        }
        return hash;
    }
};

using ClaimedRanges = std::span<const ClaimedRange* const>;

// Where the ranges of a job lie in the memory claimed for a process: those with an address first.
class Claims {
public:
    static constexpr std::uint32_t count_max = 16;

    // The ranges of layers in a job of this shape, in their order, behind the blocks of the heap.
    // More than count_max ranges, or two of one number, end the process.
    [[nodiscard]] static Claims of(const Shape& shape, ClaimedRanges ranges);

    // Offset and length of a range; 0 and 0: this job has none.
    [[nodiscard]] std::uint64_t offset(const ClaimedRange& range) const noexcept {
        return find(range).offset;
    }

    [[nodiscard]] std::uint64_t bytes(const ClaimedRange& range) const noexcept {
        return find(range).bytes;
    }

    // The bytes of all ranges of a process, and of those that have an address.
    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

    [[nodiscard]] std::uint64_t addressed_end() const noexcept { return addressed_end_; }

    friend bool operator==(const Claims& a, const Claims& b) noexcept = default;

private:
    struct ClaimPlace {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        std::uint32_t number = 0;
        std::uint32_t reserved = 0;

        friend bool operator==(const ClaimPlace& a, const ClaimPlace& b) noexcept = default;
    };

    [[nodiscard]] ClaimPlace find(const ClaimedRange& range) const noexcept {
        const std::uint32_t number = range.number();
        for (std::uint32_t i = 0; i < count_; ++i) {
            if (places_[i].number == number) return places_[i];
        }
        return {};
    }

    void add(const ClaimedRange& range, const Shape& shape);

    std::array<ClaimPlace, count_max> places_{};
    std::uint64_t end_ = 0;
    std::uint64_t addressed_end_ = 0;
    std::uint32_t count_ = 0;
    std::uint32_t reserved_ = 0;
};

}  // namespace acp::node
