// SPDX-License-Identifier: BSD-3-Clause
// The log of the pages that the last releases of a lock changed, with the number of the last release. It
// travels with a lock whose bytes are too many to travel themselves. A node that has seen the releases up
// to a number learns which of its copies are out of date. The log has room for some runs of pages, and
// forgets the oldest ones; a node that has not seen a forgotten release treats all pages as changed.
// Plain memory that is copied as bytes; read() checks the bytes that another process has sent. The holder
// of the lock alone changes it. Knows no lock, no node and no memory of pages.
// Tests: tests/unit/pages/change_log_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "pages/page.hpp"

namespace acp::pages {

struct ChangedRun {
    PageNumber first = 0;
    std::uint64_t count = 0;

    [[nodiscard]] PageNumber end() const noexcept { return first + count; }

    bool operator==(const ChangedRun&) const = default;
};

// The pages of one release in a bounded number of runs: of more runs those join that have the
// fewest unchanged pages between them.
class ReleasedRuns {
public:
    static constexpr std::size_t runs_max = 16;

    // Ascending: the page lies behind those that were added.
    void add(PageNumber page) noexcept {
        if (count_ != 0 && runs_[count_ - 1].end() == page) {
            ++runs_[count_ - 1].count;
            return;
        }
        runs_[count_++] = {page, 1};
        if (count_ > runs_max) join_nearest();
    }

    [[nodiscard]] std::span<const ChangedRun> runs() const noexcept {
        return std::span(runs_).first(count_);
    }

private:
    void join_nearest() noexcept {
        const auto gap_behind = [this](std::size_t i) {
            return runs_[i + 1].first - runs_[i].end();
        };
        std::size_t nearest = 0;
        for (std::size_t i = 1; i + 1 < count_; ++i)
            if (gap_behind(i) < gap_behind(nearest)) nearest = i;
        runs_[nearest].count = runs_[nearest + 1].end() - runs_[nearest].first;
        std::copy(runs_.begin() + static_cast<std::ptrdiff_t>(nearest) + 2,
                  runs_.begin() + static_cast<std::ptrdiff_t>(count_),
                  runs_.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
        --count_;
    }

    std::array<ChangedRun, runs_max + 1> runs_{};
    std::size_t count_ = 0;
};

class ChangeLog {
public:
    static constexpr std::size_t runs_max = 60;

    // No release is in it.
    //   number  of the releases before, all of which every node has seen
    explicit ChangeLog(std::uint64_t number = 0) noexcept : newest_(number), forgotten_(number) {}

    // The number of the last release.
    [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }

    // A release that changed pages gets the next number.
    //   runs  ascending, without a common page; ReleasedRuns::runs_max at most
    void add(std::span<const ChangedRun> runs) noexcept {
        ++newest_;
        for (const ChangedRun& run : runs) {
            leave_out(run);
            if (count_ == runs_max) forget_oldest();
            runs_[count_++] = {static_cast<std::uint32_t>(run.first),
                               static_cast<std::uint32_t>(run.count), newest_};
        }
    }

    // Calls visit(ChangedRun) for runs that have all pages which releases after number `seen` changed;
    // a page may be in several. Returns false, and calls nothing, if it has forgotten some of them.
    template <typename Visit>
    [[nodiscard]] bool for_each_since(std::uint64_t seen, const Visit& visit) const {
        if (seen < forgotten_) return false;
        for (const Entry& entry : entries())
            if (entry.release > seen) visit(ChangedRun{entry.first, entry.count});
        return true;
    }

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return std::as_bytes(std::span(this, 1));
    }

    // Takes the bytes of another log. Returns false, and changes nothing, if they are none.
    //   pages  a bound of all pages
    [[nodiscard]] bool read(std::span<const std::byte> bytes, std::uint64_t pages) noexcept {
        if (bytes.size() != sizeof(ChangeLog)) return false;
        ChangeLog other;
        std::memcpy(static_cast<void*>(&other), bytes.data(), sizeof other);
        if (!other.is_sound(pages)) return false;
        *this = other;
        return true;
    }

private:
    struct Entry {
        std::uint32_t first = 0;
        std::uint32_t count = 0;
        std::uint64_t release = 0;
    };

    [[nodiscard]] std::span<const Entry> entries() const noexcept {
        return std::span(runs_).first(count_);
    }

    [[nodiscard]] bool is_sound(std::uint64_t pages) const noexcept {
        if (count_ > runs_max || forgotten_ > newest_) return false;
        return std::ranges::all_of(entries(), [&](const Entry& entry) {
            return entry.count != 0 && std::uint64_t{entry.first} + entry.count <= pages &&
                   entry.release <= newest_;
        });
    }

    template <typename IsWanted>
    void keep_if(const IsWanted& is_wanted) noexcept {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count_; ++i)
            if (is_wanted(runs_[i])) runs_[kept++] = runs_[i];
        count_ = kept;
    }

    // A node that has not seen an earlier release of these pages has not seen the new one.
    void leave_out(const ChangedRun& run) noexcept {
        for (Entry& entry : std::span(runs_).first(count_)) {
            const PageNumber end = PageNumber{entry.first} + entry.count;
            const bool begins_before = entry.first < run.first;
            const bool ends_behind = end > run.end();
            const bool has_common_page = entry.first < run.end() && run.first < end;
            if (!has_common_page || entry.release == newest_ || (begins_before && ends_behind)) {
                continue;
            }
            if (begins_before) {
                entry.count = static_cast<std::uint32_t>(run.first - entry.first);
            } else {
                entry.count = ends_behind ? static_cast<std::uint32_t>(end - run.end()) : 0;
                entry.first = static_cast<std::uint32_t>(run.end());
            }
        }
        keep_if([](const Entry& entry) { return entry.count != 0; });
    }

    void forget_oldest() noexcept {
        const auto oldest = std::ranges::min_element(entries(), {}, &Entry::release);
        forgotten_ = std::max(forgotten_, oldest->release);
        keep_if([this](const Entry& entry) { return entry.release > forgotten_; });
    }

    std::uint64_t newest_;
    std::uint64_t forgotten_;  // runs of releases up to this one are not all here
    std::uint64_t count_ = 0;
    std::array<Entry, runs_max> runs_{};
};

}  // namespace acp::pages
