// SPDX-License-Identifier: BSD-3-Clause
// Finds bytes that a call both reads and writes, or writes twice. Converts a range of global memory
// or of the caller's into an extent: a canonical location of its bytes, in which two registrations
// of the same memory, or a registration and a plain pointer, compare equal. For ACP_CHECK only:
// nothing here is fast. No state; any thread.
// Tests: tests/unit/api/overlap_test.cpp, tests/tools/acprun_doings_test.py.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "local/space.hpp"

namespace acp::api {

// Bytes of one address space.
struct ByteExtent {
    // 0: this process's own mapping. 1 + slot: the private memory of another process of this node.
    // Above these: the memory of a process of another node, by its global addresses.
    std::uint64_t space = 0;
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;  // the range does not wrap around

    // NOLINTNEXTLINE(modernize-use-nullptr): the tool takes the zero of the comparison for a
    // pointer
    friend auto operator<=>(const ByteExtent&, const ByteExtent&) = default;
};

// The location of a global address's bytes. An invalid address gets an extent that overlaps others
// of the same process only; the command that uses it fails anyway.
[[nodiscard]] ByteExtent extent_of(const local::Space& space,
                                   memory::GlobalAddress address,
                                   std::uint64_t bytes) noexcept;

// The location of the bytes behind a pointer of this process.
[[nodiscard]] ByteExtent extent_of(const void* pointer, std::uint64_t bytes) noexcept;

// Whether two ranges share a byte. Empty ranges share none.
[[nodiscard]] bool do_overlap(const ByteExtent& first, const ByteExtent& second) noexcept;

// Two ranges of a list that share a byte: the target of the first, and the target or source of the
// second.
struct ListOverlap {
    std::uint64_t first = 0;  // index in the order of add()
    std::uint64_t second = 0;
    bool is_with_source = false;

    friend bool operator==(const ListOverlap&, const ListOverlap&) = default;
};

// The ranges of one list of copies. The targets of a list may overlap neither each other nor any of
// its sources; only a range that is copied onto itself may. Memory: 40 bytes for each end of a
// range that was added.
class ListExtents {
public:
    void add(const ByteExtent& target, const ByteExtent& source);

    // The number of ranges that were added since the last clear(), empty ones included.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    // Finds an overlap if there is one. Takes time n log n, and leaves the ranges in an unspecified
    // order.
    [[nodiscard]] std::optional<ListOverlap> find();

    void clear() noexcept;

private:
    struct End {
        ByteExtent extent;
        std::uint64_t index = 0;
        bool is_target = false;
    };

    std::vector<End> ends_;
    std::uint64_t size_ = 0;
};

}  // namespace acp::api
