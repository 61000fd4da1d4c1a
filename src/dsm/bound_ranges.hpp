// SPDX-License-Identifier: BSD-3-Clause
// The bytes of the window that are bound to locks, alike on all ranks of the job: each lock and its
// range, and the thread of this rank that holds the lock. Knows no page and no lock's words.
// A short range travels with its lock (dsm/bound_pages.hpp); a long one stays in its pages, and its
// holders exchange them with the homes (dsm/long_ranges.hpp).
//
// bind() and unbind() in collective calls, while no thread of the rank uses a bound lock or touches
// the window; all other calls by any thread, those on pages also in signal handlers.
// Tests: tests/unit/dsm/bound_ranges_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "dsm/window.hpp"
#include "memory/ga_layout.hpp"

#include "pages/change_log.hpp"
#include "pages/page.hpp"

namespace acp::dsm {

// How the bytes of a range reach the next holder of its lock.
enum class BoundWay : std::uint8_t {
    travels,  // the lock's record has them
    stays,    // all ranks are on one node, and use the same pages
    logged    // they stay in the pages; the lock's record is a pages::ChangeLog
};

struct BoundRange {
    memory::GlobalAddress lock = 0;
    std::uint64_t first = 0;  // byte of the window
    std::uint64_t bytes = 0;  // 1 or more
    BoundWay way = BoundWay::travels;
    // Counts bindings of any locks, from 1 on: those of one place at different times differ.
    std::uint64_t serial = 0;
    // If the range is logged: the thread that holds the lock uses the log.
    pages::ChangeLog log;
    // The thread of this rank that holds the lock, as its number + 1, else 0. The holder stores it;
    // one that has released the lock clears it only if no other thread has stored its own number since.
    // Memory order relaxed: a barrier reads it when no thread uses the lock.
    std::atomic<std::uint32_t> holder{0};

    void note_released_by(std::uint32_t thread) noexcept {
        std::uint32_t seen = thread + 1;
        (void)holder.compare_exchange_strong(seen, 0, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }

    [[nodiscard]] std::uint64_t end() const noexcept { return first + bytes; }

    // The length of the lock's record; 0: it has none.
    [[nodiscard]] std::uint64_t record_bytes() const noexcept {
        if (way == BoundWay::travels) return bytes;
        return way == BoundWay::logged ? sizeof log : 0;
    }

    // The number of all releases before this binding.
    [[nodiscard]] std::uint64_t first_release() const noexcept { return first_release_of(serial); }

    [[nodiscard]] static constexpr std::uint64_t first_release_of(std::uint64_t serial) noexcept {
        return serial << 40;
    }

    // Whether no byte of the page lies outside.
    [[nodiscard]] bool has_whole(pages::PageNumber page) const noexcept {
        const std::uint64_t begin = page * pages::page_bytes;
        return first <= begin && begin + pages::page_bytes <= end();
    }

    [[nodiscard]] PageRange pages() const noexcept {
        const pages::PageNumber page = first / pages::page_bytes;
        return {page, (end() - 1) / pages::page_bytes - page + 1};
    }
};

// Copies the bytes of a page that are in the range.
inline void copy_bound(const BoundRange& range,
                       pages::PageNumber page,
                       pages::PageView from,
                       pages::PageSpan to) noexcept {
    const std::uint64_t begin = page * pages::page_bytes;
    const std::uint64_t first = std::max(range.first, begin) - begin;
    const std::uint64_t end = std::min(range.end(), begin + pages::page_bytes) - begin;
    std::memcpy(to.data() + first, from.data() + first, end - first);
}

class BoundRanges {
public:
    // Binds the bytes [first, first + bytes), which overlaps() no other range, to a lock that is bound
    // to none. Throws std::bad_alloc, and changes nothing.
    void bind(memory::GlobalAddress lock,
              std::uint64_t first,
              std::uint64_t bytes,
              BoundWay way = BoundWay::travels);

    // BoundRange::serial of the next bind().
    [[nodiscard]] std::uint64_t next_serial() const noexcept { return serial_ + 1; }

    void unbind(memory::GlobalAddress lock) noexcept;

    // The range of a lock, valid until unbind(); nullptr: no bytes are bound to it. One load where none
    // are bound to any.
    [[nodiscard]] BoundRange* find(memory::GlobalAddress lock) const noexcept {
        if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
        const std::shared_lock guard(mutex_);
        return find_bound(lock);
    }

    // Does so for a caller that knows that bytes are bound to the lock: without the mutex.
    [[nodiscard]] BoundRange* find_bound(memory::GlobalAddress lock) const noexcept {
        if (of_lock_.empty()) return nullptr;
        for (std::size_t i = place_of(lock);; i = (i + 1) & (of_lock_.size() - 1)) {
            BoundRange* const range = of_lock_[i];
            if (range == nullptr || range->lock == lock) return range;
        }
    }

    // A range other than that of `lock` that has a byte of [first, first + bytes), or nullptr.
    [[nodiscard]] const BoundRange* other_in(memory::GlobalAddress lock,
                                             std::uint64_t first,
                                             std::uint64_t bytes) const noexcept;

    // Calls visit(range) for each range that has a byte in the pages, in ascending order.
    template <typename Visit>
    void for_each_in(PageRange pages, const Visit& visit) const {
        const std::uint64_t begin = pages.first * pages::page_bytes;
        const std::uint64_t end = begin + pages.count * pages::page_bytes;
        for (auto at = first_behind(begin); at != by_place_.end() && (*at)->first < end; ++at)
            visit(**at);
    }

    // The first of them, or nullptr.
    [[nodiscard]] const BoundRange* first_in(PageRange pages) const noexcept {
        const std::uint64_t begin = pages.first * pages::page_bytes;
        const auto at = first_behind(begin);
        const bool is_in =
            at != by_place_.end() && (*at)->first < begin + pages.count * pages::page_bytes;
        return is_in ? at->get() : nullptr;
    }

    // Whether a byte of the page travels with a lock: the home has older ones than the lock.
    [[nodiscard]] bool has_travelling(pages::PageNumber page) const noexcept {
        bool has_one = false;
        for_each_in({page, 1}, [&](const BoundRange& range) {
            has_one = has_one || range.way == BoundWay::travels;
        });
        return has_one;
    }

    // Whether the page has bytes of a logged range.
    [[nodiscard]] bool has_logged(pages::PageNumber page) const noexcept {
        bool has_one = false;
        for_each_in({page, 1}, [&](const BoundRange& range) {
            has_one = has_one || range.way == BoundWay::logged;
        });
        return has_one;
    }

    template <typename Visit>
    void for_each(const Visit& visit) const {
        for (const auto& range : by_place_) visit(*range);
    }

private:
    using Ranges = std::vector<std::unique_ptr<BoundRange>>;

    // The first range that ends behind a byte.
    [[nodiscard]] Ranges::const_iterator first_behind(std::uint64_t byte) const noexcept {
        return std::partition_point(by_place_.begin(), by_place_.end(),
                                    [byte](const auto& range) { return range->end() <= byte; });
    }

    // Locks begin at cache lines.
    [[nodiscard]] std::size_t place_of(memory::GlobalAddress lock) const noexcept {
        return (lock >> 6U ^ lock >> 16U) & (of_lock_.size() - 1);
    }

    void fill_table() noexcept;

    // Of the table by locks alone: other threads look for locks that are not bound.
    mutable std::shared_mutex mutex_;
    std::vector<BoundRange*> of_lock_;  // by open addressing; half of it at most is in use
    Ranges by_place_;                   // ascending
    std::atomic<std::size_t> count_{0};
    std::uint64_t serial_ = 0;
};

}  // namespace acp::dsm
