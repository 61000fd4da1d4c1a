// SPDX-License-Identifier: BSD-3-Clause
// One rank with shared pages whose homes are elsewhere, or here, for tests of trackers: a memory file
// that is mapped twice, the page words, the twins, and homes in plain memory from which pages are
// fetched by copies. Plays the protocol around a tracker: fetch, flush, drop and eviction.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sched.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include "dsm/fault_service.hpp"
#include "dsm/tracker.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"

#include "pages/page_word.hpp"

namespace acp::dsm::test {

using pages::page_bytes;
using pages::PageNumber;

template <typename T>
T must(base::Result<T> result) {
    if (!result.is_ok()) {
        std::fprintf(stderr, "%s\n", std::string(result.failure().message()).c_str());
        std::abort();
    }
    return std::move(result).value();
}

// The default actions of the signals of faults, while it lives: a sanitizer has its own. Before a
// fault service is made.
class DefaultActions {
public:
    DefaultActions() {
        struct sigaction by_default {};

        by_default.sa_handler = SIG_DFL;
        for (std::size_t i = 0; i < signals.size(); ++i) {
            sigaction(signals[i], &by_default, &former_[i]);
        }
    }

    DefaultActions(const DefaultActions&) = delete;
    DefaultActions& operator=(const DefaultActions&) = delete;

    ~DefaultActions() {
        for (std::size_t i = 0; i < signals.size(); ++i) {
            sigaction(signals[i], &former_[i], nullptr);
        }
    }

private:
    static constexpr std::array signals = {SIGBUS, SIGSEGV};

    std::array<struct sigaction, signals.size()> former_{};
};

// The pages of a harvest, in its order.
class PageList final : public WrittenPages {
public:
    explicit PageList(Tracker& tracker) { require(tracker.harvest(*this)); }

    // Those that Tracker::find_written reports.
    PageList(const Tracker& tracker, PageRange pages) {
        require(tracker.find_written(pages, *this));
    }

    void add(PageRange pages) noexcept override {
        for (std::uint64_t i = 0; i < pages.count; ++i) pages_.push_back(pages.first + i);
    }

    [[nodiscard]] const std::vector<PageNumber>& pages() const { return pages_; }

    [[nodiscard]] bool has(PageNumber page) const {
        return std::binary_search(pages_.begin(), pages_.end(), page);
    }

private:
    static void require(const base::Status& status) {
        if (status.is_ok()) return;
        std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
        std::abort();
    }

    std::vector<PageNumber> pages_;
};

class TrackedScene final : public PageSource {
public:
    static constexpr pages::SlotNumber slot = 3;

    TrackedScene(TrackerKind kind, std::uint64_t count)
        : count_(count),
          file_(must(os::create_memory_file("acp-test", count * page_bytes))),
          plain_(must(os::Mapping::map_shared(file_.get(), count * page_bytes))),
          tracked_(must(os::Mapping::map_shared(file_.get(), count * page_bytes))),
          homes_(count * page_bytes),
          twins_(count * page_bytes),
          memory_(count),
          words_(memory_.data(), count),
          mapped_(count),
          is_home_(count),
          tracker_(must(Tracker::start(kind, {tracked_.data(), count}, mapped_))),
          service_({tracked_.data(), count}, mapped_, *this, counters_) {
        if (!service_.start(*tracker_).is_ok()) std::abort();
        for (std::uint64_t i = 0; i < homes_.size(); ++i) homes_[i] = initial(i);
    }

    ~TrackedScene() override = default;
    TrackedScene(const TrackedScene&) = delete;
    TrackedScene& operator=(const TrackedScene&) = delete;

    // The byte at an offset before any write.
    static char initial(std::uint64_t offset) {
        return static_cast<char>(offset * 7 + offset / page_bytes);
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }

    // volatile: an access has effects beyond its value.
    [[nodiscard]] volatile char* at(std::uint64_t offset) const { return tracked_.data() + offset; }

    [[nodiscard]] volatile char* page(PageNumber page) const { return at(page * page_bytes); }

    [[nodiscard]] char* plain(PageNumber page) const { return plain_.data() + page * page_bytes; }

    [[nodiscard]] const char* home(PageNumber page) const {
        return is_home_[page] ? plain(page) : homes_.data() + page * page_bytes;
    }

    [[nodiscard]] bool is_home(PageNumber page) const { return is_home_[page]; }

    [[nodiscard]] Tracker& tracker() const { return *tracker_; }

    [[nodiscard]] FaultService& service() { return service_; }

    [[nodiscard]] const MappedPages<>& mapped() const { return mapped_; }

    [[nodiscard]] std::uint64_t pages_ahead() const {
        return counters_.ahead.load(std::memory_order_relaxed);
    }

    // Whether no fault has shown the use of a page that was fetched ahead.
    [[nodiscard]] bool take_ahead(PageNumber page) { return mapped_.take_ahead(page); }

    // Faults since the last call.
    [[nodiscard]] std::uint64_t faults() {
        const std::uint64_t all = counters_.faults.load(std::memory_order_relaxed);
        return all - std::exchange(faults_seen_, all);
    }

    // Before any access to the page.
    void make_home(PageNumber page) {
        std::memcpy(plain(page), &homes_[page * page_bytes], page_bytes);
        words_.become_home(page);
        is_home_[page] = true;
        is_untracked_ = true;
    }

    // All homes here are cached elsewhere from now on.
    void arm_homes() {
        is_untracked_ = false;
        if (!tracker_->arm({0, count_}).is_ok()) std::abort();
    }

    [[nodiscard]] PageList find_written(PageRange pages) const { return {*tracker_, pages}; }

    [[nodiscard]] PageList harvest() { return PageList(*tracker_); }

    // Sends the changed bytes of a page home.
    void flush(PageNumber page) {
        if (is_home_[page]) return;
        char* const twin = &twins_[page * page_bytes];
        for (std::uint64_t i = 0; i < page_bytes; ++i) {
            if (plain(page)[i] == twin[i]) continue;
            homes_[page * page_bytes + i] = plain(page)[i];
            twin[i] = plain(page)[i];
        }
    }

    // Drops the copy of a page in a barrier, since another node wrote the page.
    void drop(PageNumber page) {
        if (is_home_[page]) return;
        if (!tracker_->unmap({page, 1}).is_ok()) std::abort();
        words_.invalidate(page);
        std::memset(plain(page), '?', page_bytes);
    }

    // By a thread, beside others that touch the pages. Whether it dropped the page.
    bool evict(PageNumber page) {
        const auto before = words_.begin_drop(page, slot, is_dead);
        if (!before) return false;
        if (before->state != pages::PageState::valid) {
            words_.cancel_drop(page, slot, *before);
            return false;
        }
        const bool is_mine = mapped_.try_drop(page).has_value();
        if (is_mine) {
            if (!tracker_->unmap({page, 1}).is_ok()) std::abort();
            flush(page);
            std::memset(plain(page), '?', page_bytes);
            words_.abandon(page, slot);
        } else {
            words_.cancel_drop(page, slot, *before);
        }
        return is_mine;
    }

    // Makes the kernel unmap pages of the tracked mapping, as under memory pressure. It leaves pages
    // alone that are mapped twice.
    void swap_out() const {
        if (!os::PageFaults::unmap_pages(plain_.data(), count_ * page_bytes).is_ok()) std::abort();
        // Fails while a part of the range allows no access; the rest is unmapped.
        (void)madvise(tracked_.data(), count_ * page_bytes, MADV_PAGEOUT);
    }

    // PageSource
    void bring(PageRange pages) noexcept override {
        for (PageNumber page = pages.first; page < pages.first + pages.count; ++page) {
            while (!try_access(page, true)) sched_yield();
        }
    }

    void bring_with(PageNumber page, std::span<const PageRange> others) noexcept override {
        for (const PageRange pages : others) {
            for (std::uint64_t i = 0; i < pages.count; ++i) (void)try_access(pages.first + i, true);
        }
        bring({page, 1});
    }

    [[nodiscard]] bool try_bring(PageNumber page) noexcept override {
        return words_.read(page).state != pages::PageState::absent && try_access(page, false);
    }

    [[nodiscard]] bool is_untracked(PageNumber page) const noexcept override {
        return is_untracked_ && is_home_[page];
    }

private:
    static bool is_dead(pages::SlotNumber /*slot*/) noexcept { return false; }

    bool try_access(PageNumber page, bool may_fetch) noexcept {
        const pages::PageAccess access = words_.access(page, slot, is_dead);
        if (access == pages::PageAccess::map) return true;
        if (access == pages::PageAccess::wait) return false;
        if (!may_fetch) {
            words_.abandon(page, slot);
            return false;
        }
        std::memcpy(&twins_[page * page_bytes], &homes_[page * page_bytes], page_bytes);
        std::memcpy(plain(page), &twins_[page * page_bytes], page_bytes);
        return words_.end_fetch(page, slot, true);
    }

    std::uint64_t count_;
    os::FileDescriptor file_;
    os::Mapping plain_;
    os::Mapping tracked_;
    std::vector<char> homes_;
    std::vector<char> twins_;
    std::vector<std::atomic<std::uint64_t>> memory_;
    pages::PageWords<> words_;
    MappedPages<> mapped_;
    std::vector<bool> is_home_;  // written before threads start
    bool is_untracked_ = true;   // the homes; written in barriers
    std::uint64_t faults_seen_ = 0;
    std::unique_ptr<Tracker> tracker_;
    PageFaultCounters counters_;
    FaultService service_;
};

}  // namespace acp::dsm::test
