// SPDX-License-Identifier: BSD-3-Clause
// Changes of the states of successive pages that all trackers make, each before the system call that
// makes the mapping match: a page that is writable is never called protected. Has no state.
#pragma once

#include "dsm/mapped_pages.hpp"
#include "dsm/page_runs.hpp"
#include "dsm/tracker.hpp"

namespace acp::dsm {

inline void set_states(MappedPages<>& mapped, PageRange pages, MappedState state) noexcept {
    for (std::uint64_t i = 0; i < pages.count; ++i) mapped.set(pages.first + i, state);
}

// Writes to protected pages cannot be excluded from now on.
inline void admit_writes(MappedPages<>& mapped, PageRange pages) noexcept {
    for (std::uint64_t i = 0; i < pages.count; ++i) mapped.admit_write(pages.first + i);
}

// For Tracker::map().
inline void map_states(MappedPages<>& mapped, PageRange pages, MapAs as) noexcept {
    const MappedState state = as == MapAs::reader   ? MappedState::is_protected
                              : as == MapAs::writer ? MappedState::written
                                                    : MappedState::untracked;
    for (std::uint64_t i = 0; i < pages.count; ++i) mapped.map(pages.first + i, state);
    if (as != MapAs::reader) admit_writes(mapped, pages);
}

// Reports the written pages of a range, whose states stay.
inline void find_written_states(const MappedPages<>& mapped,
                                PageRange pages,
                                WrittenPages& written) noexcept {
    const auto is_written = [](MappedState state) { return state == MappedState::written; };
    for_each_run(mapped, pages, is_written, [&](PageRange run) {
        written.add(run);
        return true;
    });
}

// Reports the written pages of a range, and calls them protected.
inline void report_written(MappedPages<>& mapped, PageRange pages, WrittenPages& written) noexcept {
    const auto is_written = [](MappedState state) { return state == MappedState::written; };
    for_each_run(mapped, pages, is_written, [&](PageRange run) {
        set_states(mapped, run, MappedState::is_protected);
        written.add(run);
        return true;
    });
}

}  // namespace acp::dsm
