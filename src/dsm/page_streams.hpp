// SPDX-License-Identifier: BSD-3-Clause
// Finds streams among the faults of a rank: threads that touch pages at a steady stride. Names the
// pages to fetch ahead. Knows no bytes, no network and no kernel. It counts in units, the pages that
// a tracker maps together: 1, or Tracker::block_pages.
//
// A stream begins with the third fault of a row of mapped units, ascending or descending, or with the
// fourth of faults at one distance of up to stride_max. Faults at random begin none, up to chance.
// A fault continues a stream if the rank has mapped each unit of it since the stream's last fault. It
// opens a window, the next units to fetch: one at first, then twice as many as before, up to a limit.
// One unit of a window of 4 or more, the sentinel, is fetched and not mapped. It lies in the window's
// second half, where a hash says, and its touch is the next fault of the stream. If a program touches
// only a share f of the units of its windows, a stream passes each sentinel with probability f, and ends
// after 1 / (1 - f) windows on average. A stream that ends has fetched at most twice as many units in
// vain as it used, and at most 1.5 windows.
//
// Any thread, in the handlers of faults: no call blocks or allocates. If two threads continue one stream
// at once, one of them gets the window.
// Tests: tests/unit/dsm/page_streams_test.cpp.
// Source: the read-ahead window of Linux (mm/readahead.c), here for any stride.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dsm/mapped_pages.hpp"

namespace acp::dsm {

// What a fault says of the stream that it continues.
struct StreamWindow {
    using Unit = std::uint64_t;

    static constexpr Unit no_unit = ~Unit{0};

    std::int64_t stride = 1;
    // Units that were touched between the stream's last fault and this one.
    std::uint64_t used = 0;
    // The units to fetch ahead: the first one is nearest to the fault. None: the fault continues no
    // stream, or the window ends there.
    Unit first = 0;
    std::uint64_t count = 0;
    Unit sentinel = no_unit;  // one of them, which is not to be mapped

    // Unit i of the window.
    [[nodiscard]] Unit at(std::uint64_t i) const noexcept {
        return first + i * static_cast<std::uint64_t>(stride);
    }
};

class PageStreams {
public:
    using Unit = StreamWindow::Unit;

    static constexpr std::size_t streams_max = 8;
    static constexpr std::size_t history_max = 16;
    static constexpr std::uint64_t stride_max = 256;
    // Pages of a window, and units of one whose stride is not 1 or -1.
    static constexpr std::uint64_t window_pages_max = 64;
    static constexpr std::uint64_t scattered_max = 16;
    // Units of a stream that other faults may have mapped, and that still continue it.
    static constexpr std::uint64_t mapped_beside_max = 32;

    //   mapped      outlives this
    //   unit_pages  pages of a unit: all of them are mapped, or none
    PageStreams(const MappedPages<>& mapped, std::uint64_t unit_pages) noexcept;

    // A fault on a page that is absent.
    //   ahead_max  the most pages of the window; fewer than a unit: there is none
    [[nodiscard]] StreamWindow on_fault(pages::PageNumber page,
                                        std::uint64_t ahead_max = window_pages_max) noexcept;

private:
    struct Stream;

    [[nodiscard]] bool is_mapped(Unit unit) const noexcept {
        return mapped_.state(unit * unit_pages_) != MappedState::absent;
    }

    [[nodiscard]] std::uint64_t steps_to(const Stream& stream, Unit unit) const noexcept;
    [[nodiscard]] bool is_way_mapped(Unit from,
                                     std::int64_t stride,
                                     std::uint64_t steps) const noexcept;
    [[nodiscard]] StreamWindow open_window(Unit unit,
                                           std::uint64_t ahead_max,
                                           Stream& stream) const noexcept;
    [[nodiscard]] StreamWindow begin_stream(Unit unit, std::uint64_t ahead_max) noexcept;
    [[nodiscard]] std::int64_t stride_to(Unit unit) const noexcept;
    [[nodiscard]] bool is_end_of_row(Unit unit,
                                     std::int64_t direction,
                                     std::span<const Unit> faults) const noexcept;

    const MappedPages<>& mapped_;
    std::uint64_t unit_pages_;
    std::uint64_t units_;  // the number of all units
    // relaxed, all of them: a lost change costs a window, and no data hang on them
    std::array<std::atomic<std::uint64_t>, streams_max> streams_{};  // Stream::packed()
    std::array<std::atomic<std::uint32_t>, history_max> history_{};  // the last faults: unit + 1
    std::atomic<std::uint32_t> next_stream_{0};
    std::atomic<std::uint32_t> next_fault_{0};
};

}  // namespace acp::dsm
