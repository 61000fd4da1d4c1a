// SPDX-License-Identifier: BSD-3-Clause
// Which pages of a window the program has allocated: successive pages for each allocation, the
// lowest free ones. Each rank has such a book, and all make the same calls in the same order: so the
// books are alike, and no rank asks another one. Knows no node and no memory. One thread at a time.
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
    explicit AllocatedPages(std::uint64_t pages) {
        if (pages != 0) free_.emplace(0, pages);
    }

    // Returns the first page of `count` ones, 1 or more; nullopt: no such run is free. Throws
    // std::bad_alloc, and then nothing has changed.
    std::optional<PageNumber> allocate(std::uint64_t count) {
        for (auto run = free_.begin(); run != free_.end(); ++run) {
            if (run->second < count) continue;
            const PageNumber first = run->first;
            taken_.emplace(first, count);
            pages_taken_ += count;
            auto rest = free_.extract(run);
            rest.key() += count;
            rest.mapped() -= count;
            if (rest.mapped() != 0) free_.insert(std::move(rest));
            return first;
        }
        return std::nullopt;
    }

    // The pages of the allocation that begins there; nullopt: none does.
    [[nodiscard]] std::optional<std::uint64_t> count_at(PageNumber first) const noexcept {
        const auto run = taken_.find(first);
        return run == taken_.end() ? std::nullopt : std::optional(run->second);
    }

    //   first  of an allocation
    void free(PageNumber first) noexcept {
        auto run = free_.insert(taken_.extract(first)).position;
        pages_taken_ -= run->second;
        join(run);
        if (run != free_.begin()) join(std::prev(run));
    }

    [[nodiscard]] std::uint64_t pages_taken() const noexcept { return pages_taken_; }

    [[nodiscard]] std::uint64_t count() const noexcept { return taken_.size(); }

private:
    using Runs = std::map<PageNumber, std::uint64_t>;

    // Joins a free run with the next one if that follows at once.
    void join(Runs::iterator run) noexcept {
        const auto next = std::next(run);
        if (next == free_.end() || run->first + run->second != next->first) return;
        run->second += next->second;
        free_.erase(next);
    }

    Runs free_;   // the pages of each run, by its first page
    Runs taken_;  // the pages of each allocation, by its first page
    std::uint64_t pages_taken_ = 0;
};

}  // namespace acp::pages
