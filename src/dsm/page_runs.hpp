// SPDX-License-Identifier: BSD-3-Clause
// Successive pages with states of one kind, for trackers, whose system calls take ranges. Knows no
// system call. Has no state.
// Tests: tests/unit/dsm/page_runs_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dsm/mapped_pages.hpp"
#include "dsm/window.hpp"

namespace acp::dsm {

// Calls visit(PageRange) for the runs of pages of `range` whose state is_wanted(), in ascending
// order. Two runs are one if all pages between them may_join(), and are gap_max or fewer. visit
// returns whether to continue.
template <typename Mapped, typename IsWanted, typename MayJoin, typename Visit>
void for_each_run(const Mapped& mapped,
                  PageRange range,
                  const IsWanted& is_wanted,
                  const MayJoin& may_join,
                  std::uint64_t gap_max,
                  const Visit& visit) {
    PageRange run{};
    std::uint64_t gap = 0;
    const bool may_skip = !is_wanted(MappedState::absent);
    const pages::PageNumber end = range.first + range.count;
    for (pages::PageNumber page = range.first; page < end;) {
        const MappedState state = mapped.state(page);
        if (is_wanted(state)) {
            if (run.count == 0) run.first = page;
            ++page;
            run.count = page - run.first;
            gap = 0;
            continue;
        }
        // Of a large window most groups may never have been touched.
        const bool is_unused =
            may_skip && page % Mapped::group_pages == 0 && mapped.is_group_unused(page);
        const std::uint64_t step =
            is_unused ? std::min(Mapped::group_pages, end - page) : std::uint64_t{1};
        page += step;
        if (run.count == 0) continue;
        gap += step;
        if (may_join(state) && gap <= gap_max) continue;
        if (!visit(run)) return;
        run = {};
    }
    if (run.count != 0) (void)visit(run);
}

// The runs without joins.
template <typename Mapped, typename IsWanted, typename Visit>
void for_each_run(const Mapped& mapped,
                  PageRange range,
                  const IsWanted& is_wanted,
                  const Visit& visit) {
    for_each_run(
        mapped, range, is_wanted, [](MappedState) { return false; }, 0, visit);
}

}  // namespace acp::dsm
