// SPDX-License-Identifier: BSD-3-Clause
// Notices are runs of pages, by which a node says at a barrier which pages it wrote or shares. A node collects runs in any order and encodes them; each node parses the notices of all
// others and merges them: for each page its writer, or that there are several. Another node sends
// the bytes, so parse() refuses whatever encode() cannot have written. Knows no barrier, whose
// first message carries about 940 bytes of each node. One thread for each object.
// Tests: tests/unit/pages/notices_test.cpp, tests/fuzz/notices.cpp.
//
// Format: a word in little endian for each run, in ascending order of pages: the first page in bits
// 0 .. 39, the number of pages less one in bits 40 .. 60, the kinds in bits 61 and 62. Runs have no
// page in common, and of two neighbouring ones with the same kinds the first one has the most pages
// that a run can have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pages/homes.hpp"
#include "pages/page.hpp"

namespace acp::pages {

// Sets of kinds are sums.
using NoticeKinds = std::uint8_t;
inline constexpr NoticeKinds notice_written = 1;  // the node wrote the pages in this epoch
// The node is the pages' home, which from now on tracks its own writes, since nodes cache them.
inline constexpr NoticeKinds notice_shared = 2;
inline constexpr NoticeKinds notice_kinds_all = 3;

inline constexpr std::size_t notice_bytes = 8;
inline constexpr std::uint64_t notice_pages_max = std::uint64_t{1} << 40;  // a window's
inline constexpr std::uint64_t notice_run_pages_max = std::uint64_t{1} << 21;

struct NoticeRun {
    PageNumber first = 0;
    std::uint64_t count = 0;  // 1 .. notice_run_pages_max
    NoticeKinds kinds = 0;    // 1 .. notice_kinds_all

    bool operator==(const NoticeRun&) const = default;
};

// Valid notices, in bytes that the caller owns and leaves unchanged during its life.
class Notices {
public:
    // No notices.
    constexpr Notices() noexcept = default;

    // Checks bytes of any origin in full: nullopt unless they are notices of a window.
    //   pages  of the window, <= notice_pages_max
    [[nodiscard]] static std::optional<Notices> parse(std::span<const std::byte> bytes,
                                                      std::uint64_t pages) noexcept;

    [[nodiscard]] std::size_t count() const noexcept { return bytes_.size() / notice_bytes; }

    //   index  < count()
    [[nodiscard]] NoticeRun operator[](std::size_t index) const noexcept;

private:
    explicit Notices(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

    std::span<const std::byte> bytes_;
};

// Pages of which all nodes say the same.
struct MergedRun {
    PageNumber first = 0;
    std::uint64_t count = 0;
    NoticeKinds kinds = 0;        // those of all nodes together
    NodeNumber writer = no_node;  // the one that wrote them; no_node; several_nodes

    bool operator==(const MergedRun&) const = default;
};

// Collects runs of pages and finds what is said of each page. Its memory stays for the next epoch:
// an epoch with no more runs than an earlier one allocates nothing. Runs that are added in ascending
// order form a sequence; merge() takes O(runs * log(sequences)).
class NoticeMerger {
public:
    // Adds a run, which may overlap others in any way.
    //   count  1 or more, of any length
    //   node   that says so; the runs of one node must not overlap where nodes are to be counted
    void add(const NoticeRun& run, NodeNumber node);

    void add(Notices notices, NodeNumber node);

    // The union of all runs in ascending order, without regard to their nodes: the notices of this
    // node, valid until the next call.
    [[nodiscard]] std::span<const std::byte> encode();

    // The runs of all nodes in ascending order, valid until the next call. Neighbours differ.
    [[nodiscard]] std::span<const MergedRun> merge();

    // Begins the next epoch.
    void clear() noexcept {
        edges_.clear();
        sequences_.clear();
    }

private:
    // The begin (+1) or end (-1) of a run.
    struct Edge {
        PageNumber page;
        std::int32_t step;
        NoticeKinds kinds;
        NodeNumber node;
    };

    void sort_edges();

    std::vector<Edge> edges_;
    std::vector<std::size_t> sequences_;  // where ascending edges begin
    std::vector<Edge> sorted_;            // room for sort_edges()
    std::vector<MergedRun> merged_;
    std::vector<std::byte> encoded_;
};

}  // namespace acp::pages
