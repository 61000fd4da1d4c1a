// SPDX-License-Identifier: BSD-3-Clause
// A node's part in the check of writes (ACP_DSM_CHECK): finds the bytes of pages homed here that two
// nodes wrote without an order. The differences of other nodes come with the node that sends them
// (operations::ApplyChecked); a page homed here has a twin too (pages/checked_page.hpp), by which the
// home's own writes are known. The check follows each barrier of the job that has settled, by a
// meeting of the leaders (dsm/race_watch.hpp), and the ranks of each node then have what all nodes found.
//
// Two writes of a byte are a race if no barrier lies between them, and the node of neither has fenced
// the page behind its write. Not found are writes of ranks of one node, of values that are equal to
// those before, and of bytes that are bound to locks; a write of the home is missed, too, if another
// node's difference with the same value overwrites it. Bytes that a copy
// or an atomic has changed at their global address count as written by the home; every other report is a race.
//
// Memory of the node: the masks of pages::WriterMasks, which other nodes change by operations, and
// the results of the last meeting, which the leader writes while all ranks are in the meeting.
// Threads: end_own_writes() by any; log() by any rank behind a meeting; the rest by the leader.
// Failures: a leader that dies breaks the team, and no further barrier follows.
// Tests: tests/unit/dsm/race_check_test.cpp, tests/conformance/dsm_check_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/config.hpp"
#include "dsm/window.hpp"

#include "pages/checked_page.hpp"
#include "pages/difference.hpp"
#include "pages/writer_masks.hpp"

namespace acp::dsm {

// Bytes of a page that two nodes wrote, or that one wrote and the other touched.
struct PageRace {
    std::uint64_t page = 0;
    std::uint32_t first = 0;  // the first run of these bytes
    std::uint32_t run = 0;
    std::uint32_t bytes = 0;  // the length of all runs
    pages::NodeNumber home = 0;
    std::array<pages::NodeNumber, 2> nodes{};
    std::array<std::uint32_t, 2> ranks_next{};  // pages::PageWriter::rank_next
    std::uint32_t touched = 0;  // 1 + the place in `nodes` of the one that touched; 0: both wrote
    std::uint32_t reserved = 0;

    // Whether each field of a race that another node has sent is in its range.
    [[nodiscard]] bool is_sound(std::uint64_t page_count,
                                pages::NodeNumber how_many_nodes) const noexcept {
        constexpr std::uint64_t page_bytes = pages::page_bytes;
        return page < page_count && home < how_many_nodes && nodes[0] < how_many_nodes &&
               nodes[1] < how_many_nodes && run != 0 && std::uint64_t{first} + run <= page_bytes &&
               run <= bytes && bytes <= page_bytes && touched <= nodes.size();
    }
};

// The races of a barrier.
struct RaceLog {
    static constexpr std::size_t races_max = 16;

    std::uint64_t races = 0;      // the number on all nodes; a page counts once for each two
    std::uint64_t unchecked = 0;  // pages for which the homes had no room
    std::uint64_t kept = 0;       // the length of the list
    std::array<PageRace, races_max> list{};
};

// Where the bytes of a node's block lie in the file that its processes map.
struct BlockFile {
    int fd = -1;  // -1: unknown
    std::uint64_t offset = 0;
};

class RaceCheck {
public:
    // The memory of a node, whole pages.
    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t pages,
                                                       base::PageCheck check) noexcept {
        const std::uint64_t all =
            log_bytes + pages::WriterMasks<>::bytes(pages, entries(pages, check));
        return (all + pages::page_bytes - 1) / pages::page_bytes * pages::page_bytes;
    }

    // The size of the pool of the masks.
    [[nodiscard]] static constexpr std::uint64_t entries(std::uint64_t pages,
                                                         base::PageCheck check) noexcept {
        return check == base::PageCheck::reads ? 4 * pages : pages;
    }

    // Where the masks lie in it.
    static constexpr std::uint64_t log_bytes = 1024;

    //   window  outlives this
    //   memory  zero at first
    RaceCheck(const Window& window, std::byte* memory, BlockFile file, base::PageCheck check);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    // The number of fences of this node, in its memory.
    [[nodiscard]] std::atomic<std::uint64_t>& fences() const noexcept {
        return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + log_bytes -
                                                              sizeof(std::uint64_t));
    }

    // A rank of this node has touched a byte of a page homed here.
    void add_touch(pages::PageNumber page, std::uint32_t byte, std::uint32_t rank) const noexcept;

    // A rank of this node has fenced pages: ends the writes of this node to those homed here.
    void end_own_writes(PageRange pages) const noexcept;

    // Finds the races of an epoch. All differences have arrived, and the homes are as they were.
    void find();

    // Begins the next epoch, when the homes are those of it, and no rank of any node writes.
    void begin_epoch() const noexcept;

    // What find() found, for settle() of all leaders.
    [[nodiscard]] std::span<const char> notice() const noexcept {
        return {reinterpret_cast<const char*>(&found_),
                sizeof found_ - (RaceLog::races_max - found_.kept) * sizeof(PageRace)};
    }

    // The ranks of this node get what all nodes found.
    void settle(std::span<const std::span<const char>> notices) const noexcept;

    // What the last meeting found.
    [[nodiscard]] const RaceLog& log() const noexcept {
        return *reinterpret_cast<const RaceLog*>(memory_);
    }

private:
    struct Writer {
        pages::PageWriter writer;
        pages::WrittenBytes bytes;
    };

    [[nodiscard]] pages::CheckedPage checked(pages::PageNumber page) const noexcept {
        return {page, window_.plain(page), window_.twin(page), window_.node()};
    }

    void find_in(pages::PageNumber page);
    void add(pages::PageNumber page, const Writer& one, const Writer& other);
    [[nodiscard]] bool has_written(pages::NodeNumber node,
                                   const pages::WrittenBytes& bytes) const noexcept;

    const Window& window_;
    std::byte* memory_;
    std::uint64_t bytes_;  // the size of the memory
    BlockFile file_;
    pages::WriterMasks<> masks_;
    RaceLog found_;
    std::vector<Writer> writers_;  // the writers of one page; its memory stays
};

static_assert(sizeof(RaceLog) <= RaceCheck::log_bytes - sizeof(std::uint64_t));

}  // namespace acp::dsm
