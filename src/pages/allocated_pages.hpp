// SPDX-License-Identifier: BSD-3-Clause
// Which pages of a window the program has allocated: successive pages for each allocation, the
// lowest free ones. Each rank has such a book, and all make the same calls in the same order: so the
// books are alike, and no rank asks another one. Knows no node and no memory. One thread at a time.
//
// A page behind each long allocation stays unused: of two arrays whose distance is a power of two,
// like elements contend for the same sets of the caches. (Laplace on two adjacent arrays of 32 MiB
// took 1.25 x the time.)
// Tests: tests/unit/pages/allocated_pages_test.cpp.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "pages/page.hpp"

namespace acp::pages {

class AllocatedPages {
public:
    // Allocations of at least this many pages have an unused page behind them.
    static constexpr std::uint64_t long_pages = 64;

    // The pages of a window in which allocations of `pages` pages in all find room.
    [[nodiscard]] static constexpr std::uint64_t window_pages(std::uint64_t pages) noexcept {
        return pages + pages / long_pages;
    }

    //   pages  of the window, without those of window_pages() that stay unused
    explicit AllocatedPages(std::uint64_t pages) : pages_(pages) {
        if (pages != 0) free_.emplace(0, window_pages(pages));
    }

    // Returns the first page of `count` ones, 1 or more; nullopt: no such run is free. Throws
    // std::bad_alloc, and then nothing has changed.
    std::optional<PageNumber> allocate(std::uint64_t count) {
        const std::uint64_t taken = window_length(count);
        for (auto run = free_.begin(); run != free_.end(); ++run) {
            if (run->second < taken) continue;
            const PageNumber first = run->first;
            taken_.emplace(first, taken);
            pages_taken_ += count;
            auto rest = free_.extract(run);
            rest.key() += taken;
            rest.mapped() -= taken;
            if (rest.mapped() != 0) free_.insert(std::move(rest));
            return first;
        }
        return std::nullopt;
    }

    // The pages of the allocation that begins there; nullopt: none does.
    [[nodiscard]] std::optional<std::uint64_t> count_at(PageNumber first) const noexcept {
        const auto run = taken_.find(first);
        return run == taken_.end() ? std::nullopt : std::optional(allocated(run->second));
    }

    // The first page of the allocation that a page belongs to; nullopt: none has it.
    [[nodiscard]] std::optional<PageNumber> first_of(PageNumber page) const noexcept {
        auto run = taken_.upper_bound(page);
        if (run == taken_.begin()) return std::nullopt;
        --run;
        const bool has_it = page - run->first < allocated(run->second);
        return has_it ? std::optional(run->first) : std::nullopt;
    }

    // Whether each page of a range belongs to an allocation.
    //   count  1 or more
    [[nodiscard]] bool has_all(PageNumber first, std::uint64_t count) const noexcept {
        auto run = taken_.upper_bound(first);
        if (run != taken_.begin()) --run;
        for (; run != taken_.end() && run->first <= first; ++run) {
            const PageNumber end = run->first + allocated(run->second);
            if (end <= first) return false;
            if (end - first >= count) return true;
            count -= end - first;
            first = end;
        }
        return false;
    }

    //   first  of an allocation
    void free(PageNumber first) noexcept {
        auto run = free_.insert(taken_.extract(first)).position;
        pages_taken_ -= allocated(run->second);
        join(run);
        if (run != free_.begin()) join(std::prev(run));
    }

    [[nodiscard]] std::uint64_t page_count() const noexcept { return pages_; }

    [[nodiscard]] std::uint64_t pages_taken() const noexcept { return pages_taken_; }

    [[nodiscard]] std::uint64_t count() const noexcept { return taken_.size(); }

private:
    using Runs = std::map<PageNumber, std::uint64_t>;

    // The pages of an allocation of `count` pages, with the unused one behind it.
    static constexpr std::uint64_t window_length(std::uint64_t count) noexcept {
        return count < long_pages ? count : count + 1;
    }

    static constexpr std::uint64_t allocated(std::uint64_t length) noexcept {
        return length < long_pages ? length : length - 1;
    }

    // Joins a free run with the next one if that follows at once.
    void join(Runs::iterator run) noexcept {
        const auto next = std::next(run);
        if (next == free_.end() || run->first + run->second != next->first) return;
        run->second += next->second;
        free_.erase(next);
    }

    std::uint64_t pages_;
    Runs free_;   // the pages of each run, by its first page
    Runs taken_;  // window_length() of each allocation, by its first page
    std::uint64_t pages_taken_ = 0;
};

}  // namespace acp::pages
