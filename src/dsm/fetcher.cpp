// SPDX-License-Identifier: BSD-3-Clause
// Holds pages, gets their bytes, publishes them.
#include "dsm/fetcher.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "dsm/page_call_name.hpp"
#include "dsm/word_waits.hpp"
#include "node/public_call.hpp"
#include "os/cancellation.hpp"

#include "pages/page_text.hpp"

namespace acp::dsm {

namespace {

using base::Status;
using pages::PageAccess;
using pages::PageNumber;
using pages::PageState;

// The kernel maps only pages that the memory file has, and it makes one when it is read.
void commit(pages::PageSpan page) noexcept {
    (void)*static_cast<const volatile std::byte*>(page.data());
}

}  // namespace

// The pages of ranges that are yet to be fetched, in their order.
class PageFetcher::PagesLeft {
public:
    explicit PagesLeft(std::span<const PageRange> ranges) noexcept : ranges_(ranges) {
        leave_ended();
    }

    [[nodiscard]] bool is_empty() const noexcept { return ranges_.empty(); }

    [[nodiscard]] PageNumber first() const noexcept { return ranges_.front().first + taken_; }

    void take() noexcept {
        ++taken_;
        leave_ended();
    }

private:
    void leave_ended() noexcept {
        while (!ranges_.empty() && taken_ >= ranges_.front().count) {
            ranges_ = ranges_.subspan(1);
            taken_ = 0;
        }
    }

    std::span<const PageRange> ranges_;
    std::uint64_t taken_ = 0;  // pages of the first range that were taken
};

PageAccess PageFetcher::access(PageNumber page) {
    return parts_.window.page_words().access(
        page, parts_.slot, [this](pages::SlotNumber slot) { return parts_.peers.is_dead(slot); });
}

// Until the word changes, or its holder has ended.
void PageFetcher::wait_for(PageNumber page) {
    counts_.waits.fetch_add(1, std::memory_order_relaxed);
    const PageCallName name("a touch", page, parts_.window.homes().home(page));
    const node::PublicCall named(name.text());
    wait_for_change(parts_.node, parts_.peers, parts_.window.page_words().word(page),
                    [](std::uint64_t word) {
                        return pages::PageWord::unpacked(word).state == PageState::held;
                    });
}

void PageFetcher::bring(PageRange pages) noexcept {
    const Status status = fetch(pages);
    if (!status.is_ok()) loss_.end(status);
    for (std::uint64_t i = 0; i < pages.count; ++i) commit(parts_.window.plain(pages.first + i));
}

void PageFetcher::bring_with(PageNumber page, std::span<const PageRange> others) noexcept {
    const node::PublicCall named("a touch of a shared page");
    const os::CancellationHold hold;
    Status status;
    for (PagesLeft left(others); !left.is_empty() && status.is_ok();) {
        if (!has_room(left.first()) && !room_->make_room()) break;
        (void)fetch_runs(left, Need::ahead, HeldPages::are_skipped, status);
    }
    bring({page, 1});
}

std::uint64_t PageFetcher::ahead_max() const noexcept {
    const std::uint64_t copies_max = parts_.node.copies_max();
    return copies_max == 0 ? PageSource::ahead_max() : copies_max / 16;
}

bool PageFetcher::try_bring(PageNumber page) noexcept {
    if (!parts_.window.page_words().try_map(page, parts_.slot)) return false;
    commit(parts_.window.plain(page));
    return true;
}

bool PageFetcher::may_map_beside(PageNumber page) const noexcept {
    if (parts_.node.copies_max() == 0) return true;
    const pages::PageWord word = parts_.window.page_words().read(page);
    return word.state == PageState::home || word.who == pages::PageWord::none ||
           word.who == pages::PageWord::several || word.who == parts_.slot + 1;
}

bool PageFetcher::is_untracked(PageNumber page) const noexcept {
    return parts_.window.page_words().read(page).state == PageState::home &&
           !parts_.window.sharers().is_tracked(page) &&
           (parts_.bound == nullptr || !parts_.bound->has_logged(page));
}

// Whether the node may fetch the page now without dropping a copy. It has the memory of a copy that a
// barrier has invalidated.
bool PageFetcher::has_room(PageNumber page) const noexcept {
    if (room_ == nullptr) return true;
    const std::uint64_t copies_max = parts_.node.copies_max();
    if (copies_max == 0) return true;
    const pages::CacheClock<> clock = parts_.window.clock();
    return clock.count() < copies_max || clock.is_cached(page) ||
           parts_.window.homes().home(page) == parts_.window.node();
}

// This thread holds a page that it fetches next: counts the copy.
Status PageFetcher::admit(PageNumber page, Need need) {
    const pages::CacheClock<> clock = parts_.window.clock();
    const std::uint64_t copies_max = parts_.node.copies_max();
    if (room_ == nullptr || copies_max == 0 || need == Need::homes) {
        clock.use(page);
    } else if (!clock.try_use(page, copies_max)) {
        // Other threads took the room that there was when this one took the page.
        (void)room_->make_room();
        if (!clock.try_use(page, copies_max)) clock.use(page);
    }
    if (room_ != nullptr && parts_.node.has_unsent(page)) return room_->send_left(page);
    return {};
}

Status PageFetcher::fetch_one(PageNumber page, Need need) {
    PageAccess found = access(page);
    for (; found == PageAccess::wait; found = access(page)) wait_for(page);
    if (found == PageAccess::map) return {};
    Run run{{page, 1}, parts_.window.homes().home(page), {}, {}, {}};
    Status status = admit(page, need);
    if (!status.is_ok()) {
        publish(run, false);
        return status;
    }
    begin(run);
    return finish(run);
}

void PageFetcher::begin(Run& run) {
    ACP_ASSERT(run.home < parts_.window.nodes());
    run.mark = parts_.link.mark(run.pages, run.home, run.marked);
    run.get = parts_.link.get(run.pages, run.home);
}

Status PageFetcher::finish(Run& run) {
    const PageCallName name("a touch", run.pages.first, run.home);
    const node::PublicCall named(name.text());
    Status marked = parts_.link.wait(run.mark);
    Status status = parts_.link.wait(run.get);
    if (!marked.is_ok()) status = std::move(marked);
    if (status.is_ok() && run.marked.last_take >= parts_.node.next_epoch()) {
        counts_.repeated.fetch_add(1, std::memory_order_relaxed);
        status = parts_.link.wait(parts_.link.get(run.pages, run.home));
    }
    publish(run, status.is_ok());
    if (status.is_ok()) return status;
    return Status::worded(status.code(), [&] {
        return "shared " + pages::pages_named(run.pages.first, run.pages.count) +
               " cannot be fetched from " + (run.pages.count == 1 ? "its" : "their") +
               " home, node " + std::to_string(run.home) + ": " + std::string(status.message());
    });
}

void PageFetcher::publish(const Run& run, bool has_bytes) {
    const pages::PageWords<> words = parts_.window.page_words();
    const pages::CacheClock<> clock = parts_.window.clock();
    for (PageNumber page = run.pages.first; page < run.pages.first + run.pages.count; ++page) {
        if (has_bytes) {
            const pages::PageSpan plain = parts_.window.plain(page);
            std::memcpy(plain.data(), parts_.window.twin(page).data(), plain.size());
            clock.use(page);
            (void)words.end_fetch(page, parts_.slot, true);
        } else {
            clock.neglect(page);
            (void)words.abandon(page, parts_.slot);
        }
        wake_waiters(parts_.node, parts_.peers, words.word(page));
    }
    if (has_bytes) counts_.pages.fetch_add(run.pages.count, std::memory_order_relaxed);
}

Status PageFetcher::fetch(std::span<const PageRange> ranges, Need need) {
    // In a fault the thread is in no call, or in one that must not name this wait.
    const node::PublicCall named("a touch of a shared page");
    const os::CancellationHold hold;
    Status status;
    for (PagesLeft left(ranges); !left.is_empty() && status.is_ok();) {
        if (need != Need::homes && !has_room(left.first()) && !room_->make_room() &&
            need == Need::ahead) {
            break;
        }
        const bool has_taken = fetch_runs(left, need, HeldPages::end_runs, status);
        if (has_taken || !status.is_ok()) continue;
        status = fetch_one(left.first(), need);
        left.take();
    }
    return status;
}

// Takes and fetches pages until all runs are in flight, until a page that needs room, or until one that
// another thread moves, if such pages end runs: the runs end before this thread makes room, and before
// it waits for that page, since the other thread may wait for one of theirs. Returns whether it took one.
bool PageFetcher::fetch_runs(PagesLeft& left, Need need, HeldPages held, Status& status) {
    const pages::HomeTable<> homes = parts_.window.homes();
    std::array<Run, in_flight_max> runs;
    std::size_t count = 0;
    bool has_taken = false;
    for (; !left.is_empty() && status.is_ok(); left.take(), has_taken = true) {
        const PageNumber page = left.first();
        if (homes.home(page) == pages::no_node) continue;
        Run* const last = count != 0 ? &runs[count - 1] : nullptr;
        const bool continues_run = last != nullptr && last->home == homes.home(page) &&
                                   last->pages.first + last->pages.count == page &&
                                   last->pages.count < run_pages_max;
        if (!continues_run && count == in_flight_max) break;
        if (has_taken && need != Need::homes && !has_room(page)) break;
        const PageAccess access_of_page = access(page);
        if (access_of_page == PageAccess::wait && held == HeldPages::end_runs) break;
        if (access_of_page != PageAccess::fetch) continue;
        status = admit(page, need);
        if (!status.is_ok()) {
            publish({{page, 1}, homes.home(page), {}, {}, {}}, false);
        } else if (continues_run) {
            ++last->pages.count;
        } else {
            runs[count] = {{page, 1}, homes.home(page), {}, {}, {}};
            ++count;
        }
    }
    fetch_together(std::span(runs).first(count), status);
    return has_taken;
}

// Fetches runs whose pages were taken. The first failure becomes the status.
void PageFetcher::fetch_together(std::span<Run> runs, Status& status) {
    for (Run& run : runs) begin(run);
    for (Run& run : runs) {
        Status finished = finish(run);
        if (status.is_ok()) status = std::move(finished);
    }
}

}  // namespace acp::dsm
