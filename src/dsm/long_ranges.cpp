// SPDX-License-Identifier: BSD-3-Clause
// Renews copies when the lock is taken, and sends writes before it is released.
#include "dsm/long_ranges.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "os/signal_hold.hpp"

namespace acp::dsm {

using base::Code;
using base::Status;

namespace {

// The pages of a run that are in the range.
PageRange common(const pages::ChangedRun& run, PageRange pages) noexcept {
    const pages::PageNumber first = std::max(run.first, pages.first);
    const pages::PageNumber end = std::min(run.end(), pages.first + pages.count);
    return {first, end > first ? end - first : 0};
}

void add_all(pages::ChangeLog& log, PageRange pages) noexcept {
    const std::array<pages::ChangedRun, 1> all{{{pages.first, pages.count}}};
    log.add(all);
}

}  // namespace

Status LongRanges::enter(BoundRange& range, std::span<const std::byte> record, bool has_died) {
    // Here and below: as RankPages::fence().
    const os::SignalHold signals;
    if (!range.log.read(record, parts_.window.page_count()))
        return {Code::mismatch, "the lock has a record of other bytes"};
    const std::uint64_t published = range.log.newest();
    Status status = refresh(range, has_died);
    if (has_died) add_all(range.log, range.pages());
    if (!status.is_ok()) return status;
    parts_.locks.note_seen(range, published);
    parts_.locks.begin_hold(range, parts_.slot);
    return status;
}

Status LongRanges::refresh(const BoundRange& range, bool has_died) {
    const PageRange all = range.pages();
    if (has_died || parts_.is_left_by_dead(range)) return fence_.refresh(range, all);
    Status first;
    const bool has_runs =
        range.log.for_each_since(parts_.locks.seen(range), [&](const pages::ChangedRun& run) {
            const PageRange changed = common(run, all);
            if (changed.count == 0) return;
            Status status = fence_.refresh(range, changed);
            if (first.is_ok()) first = std::move(status);
        });
    return has_runs ? std::move(first) : fence_.refresh(range, all);
}

Status LongRanges::leave(BoundRange& range) noexcept {
    const os::SignalHold signals;
    const PageRange all = range.pages();
    NodeWrites writes(parts_.node);
    // Without the tracker any page may have been written.
    if (!tracker_->take_written(all, writes).is_ok()) parts_.node.add_written(all);
    lent_.find(all, writes);
    Status status = flusher_.flush_all(all);
    Status ended = fence_.end_writes(all);
    if (status.is_ok()) status = std::move(ended);
    pages::ReleasedRuns changed;
    parts_.locks.take_changed(range, [&](pages::PageNumber page) { changed.add(page); });
    if (!changed.runs().empty()) range.log.add(changed.runs());
    return status;
}

}  // namespace acp::dsm
