// SPDX-License-Identifier: BSD-3-Clause
// The steps of the barrier.
#include "dsm/barrier.hpp"

#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "dsm/copy_memory.hpp"
#include "dsm/page_runs.hpp"
#include "dsm/race_check.hpp"

namespace acp::dsm {

namespace {

using base::Code;
using base::Status;
using pages::FateRun;
using pages::NodeNumber;
using pages::PageFate;
using pages::PageNumber;
using pages::PageState;

// What a node says before its notices.
struct NoticeHead {
    std::uint32_t code = 0;          // a failed flush has it, else 0
    std::uint32_t has_released = 0;  // 1: a rank released a lock with bound bytes
};

}  // namespace

PageBarrier::PageBarrier(const PageParts& parts, const RankMapping& mapping, Flusher& flusher)
    : parts_(parts),
      own_(mapping),
      flusher_(flusher),
      decision_(parts.window.node(),
                parts.window.page_words(),
                parts.window.homes(),
                parts.window.sharers()) {}

bool PageBarrier::synchronize(team::Team& team, Status& status) {
    again_.clear();
    Status own = write_back();
    if (!own.is_ok()) parts_.node.note_failure(own.code());
    if (!team::synchronize_with_leaders(team, *this)) return false;
    const Code outcome = parts_.node.outcome();
    if (outcome == Code::ok) {
        status = follow_fates();
    } else if (!own.is_ok()) {
        status = std::move(own);
    } else {
        status = Status::worded(outcome, [] {
            return std::string(
                "a rank could not send its writes to their homes, and has the reason in its own "
                "message; the next barrier repeats it");
        });
    }
    return true;
}

void PageBarrier::add(PageRange pages) noexcept {
    parts_.node.add_written(pages);
    if (parts_.node.copies_max() == 0) return;
    const pages::CacheClock<> clock = parts_.window.clock();
    for (std::uint64_t i = 0; i < pages.count; ++i)
        if (clock.is_cached(pages.first + i)) clock.use(pages.first + i);
}

Status PageBarrier::write_back() {
    Status status = own_.tracker.harvest(*this);
    own_.lent.take(*this);
    if (!status.is_ok()) return status;
    return flusher_.flush({0, parts_.window.page_count()});
}

// A run of a notice has a page at least.
std::uint64_t PageBarrier::bytes_max() const noexcept {
    return sizeof(NoticeHead) + parts_.window.page_count() * pages::notice_bytes;
}

std::span<const char> PageBarrier::notice() {
    // Waits for threads of this node that are in a fence or a flush: the homes must get those writes, too,
    // before the notices go out.
    const Status left = flusher_.flush_all({0, parts_.window.page_count()});
    Code code = parts_.node.take_failure();
    if (!left.is_ok()) code = left.code();
    const NodeNumber own = parts_.window.node();
    const pages::Sharers<> sharers = parts_.window.sharers();
    sharers.take(parts_.node.next_epoch(), [](PageNumber, NodeNumber) {});
    merger_.clear();
    parts_.node.for_each_flushed(
        [&](PageNumber page) { merger_.add(decision_.notice_of_write(page), own); });
    sharers.for_each_due([&](PageNumber page) {
        merger_.add({page, 1, pages::notice_shared}, own);
    });
    const std::span<const std::byte> encoded = merger_.encode();
    const NoticeHead head{static_cast<std::uint32_t>(code), parts_.node.has_released() ? 1U : 0U};
    notice_.resize(sizeof head + encoded.size());
    std::memcpy(notice_.data(), &head, sizeof head);
    if (!encoded.empty()) std::memcpy(notice_.data() + sizeof head, encoded.data(), encoded.size());
    return notice_;
}

void PageBarrier::settle(std::span<const std::span<const char>> notices) {
    bool is_renewed = false;
    const Code code = merge(notices, is_renewed);
    parts_.node.set_outcome(code);
    parts_.node.set_renewed(code == Code::ok && is_renewed);
    renewed_.clear();
    if (code != Code::ok) return;
    const std::uint64_t epoch = parts_.node.next_epoch();
    if (parts_.races != nullptr) parts_.races->find();
    const std::span<const pages::MergedRun> merged = merger_.merge();
    if (is_renewed) note_renewed(merged);
    parts_.node.clear_released();
    const std::span<const FateRun> fates = decision_.settle(merged, epoch);
    count_copies(fates);
    parts_.node.set_fates(evict(fates));
    parts_.node.clear_flushed();
    parts_.node.end_epoch(epoch);
}

void PageBarrier::note_renewed(std::span<const pages::MergedRun> merged) {
    if (parts_.bound == nullptr) return;
    for (const pages::MergedRun& run : merged) {
        parts_.bound->for_each_in({run.first, run.count}, [this](const BoundRange& range) {
            if (range.way != BoundWay::travels) return;
            // A range that crosses pages may be the last one of the run before.
            if (renewed_.empty() || renewed_.back() != &range) renewed_.push_back(&range);
        });
    }
}

// A copy that goes keeps its memory, for it is often fetched again, until the clock takes it.
void PageBarrier::count_copies(std::span<const FateRun> fates) {
    const pages::CacheClock<> clock = parts_.window.clock();
    for (const FateRun& run : fates) {
        const PageRange pages{run.first, run.count};
        for (PageNumber page = run.first; page < run.first + run.count; ++page) {
            if (run.fate == PageFate::gained) clock.remove(page);
            if (run.fate == PageFate::lost) clock.use(page);  // what was the home's memory
            if (run.fate == PageFate::dropped || run.fate == PageFate::lost) clock.neglect(page);
        }
        if (run.fate != PageFate::gained) continue;
        (void)give_back_twins(parts_.window, pages);
        parts_.counters.calls.gained.fetch_add(run.count, std::memory_order_relaxed);
    }
}

// Returns the runs, with those of the copies that it dropped behind them.
std::span<const FateRun> PageBarrier::evict(std::span<const FateRun> fates) {
    const std::uint64_t copies_max = parts_.node.copies_max();
    const pages::CacheClock<> clock = parts_.window.clock();
    if (copies_max == 0) return fates;
    clock.recount();  // a process may have died
    if (clock.count() <= copies_max) return fates;
    pages::CacheClock<>::Sweep sweep(clock);
    std::array<PageNumber, 1> page{};
    try {
        fates_.assign(fates.begin(), fates.end());
        while (clock.count() > copies_max && sweep.next(page) != 0) {
            fates_.push_back({page[0], 1, PageFate::evicted});  // first: it may throw
            if (!evict_page(page[0])) {
                fates_.pop_back();
                continue;
            }
            if (fates_.size() < fates.size() + 2) continue;
            FateRun& before = fates_[fates_.size() - 2];
            if (before.first + before.count != page[0]) continue;
            ++before.count;
            fates_.pop_back();
        }
    } catch (const std::bad_alloc&) {  // the next barrier drops the rest
        if (fates_.size() < fates.size()) return fates;
    }
    for (const FateRun& run : std::span(fates_).subspan(fates.size()))
        give_back_copies(parts_.window, {run.first, run.count});
    return fates_;
}

// All ranks of the node are in the barrier, and the homes have all writes.
bool PageBarrier::evict_page(PageNumber page) {
    const pages::PageWords<> words = parts_.window.page_words();
    if (words.read(page).state == PageState::home || parts_.node.has_unsent(page)) return false;
    // The home lacks bytes that travel with locks.
    if (parts_.bound != nullptr && parts_.bound->has_travelling(page)) return false;
    words.invalidate(page);
    parts_.window.clock().remove(page);
    parts_.counters.evictions.pages.fetch_add(1, std::memory_order_relaxed);
    return true;
}

// Returns the first failure of a node.
//   is_renewed  true if a node says that it released a lock
Code PageBarrier::merge(std::span<const std::span<const char>> notices, bool& is_renewed) {
    merger_.clear();
    Code first = Code::ok;
    for (NodeNumber node = 0; node < notices.size(); ++node) {
        const std::span<const std::byte> bytes = std::as_bytes(notices[node]);
        NoticeHead head{static_cast<std::uint32_t>(Code::mismatch), 0};
        if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
        const auto parsed = head.code != 0 ? std::nullopt
                                           : pages::Notices::parse(bytes.subspan(sizeof head),
                                                                   parts_.window.page_count());
        is_renewed = is_renewed || head.has_released != 0;
        if (parsed) {
            merger_.add(*parsed, node);
        } else if (first == Code::ok) {
            const bool is_code = head.code != 0 && head.code < base::code_count;
            first = is_code ? static_cast<Code>(head.code) : Code::mismatch;
        }
    }
    return first;
}

Status PageBarrier::follow_fates() {
    os::PageOutcome outcome;
    const bool has_all = parts_.node.for_each_fate([&](const FateRun& run) {
        const os::PageOutcome followed = follow(run);
        if (outcome.is_ok()) outcome = followed;
    });
    if (!has_all) outcome = follow_words();
    if (own_.unmaps_all && outcome.is_ok()) outcome = unmap({0, parts_.window.page_count()});
    return outcome.status();
}

os::PageOutcome PageBarrier::follow(const FateRun& run) {
    const PageRange pages{run.first, run.count};
    switch (run.fate) {
        case PageFate::dropped:
        case PageFate::lost:
            return drop(pages);
        case PageFate::tracked:
            return own_.tracker.arm(pages);
        case PageFate::evicted:
            for (std::uint64_t i = 0; i < run.count; ++i) {
                (void)own_.mapped.take_wanted(run.first + i);
                count_unused(run.first + i);
            }
            return unmap(pages);
        case PageFate::gained:
            break;
    }
    return {};
}

// After a barrier with more runs than the node's state has room for.
os::PageOutcome PageBarrier::follow_words() {
    const pages::PageWords<> words = parts_.window.page_words();
    const pages::Sharers<> sharers = parts_.window.sharers();
    os::PageOutcome first;
    for (PageNumber page = 0; page < parts_.window.page_count(); ++page) {
        if (own_.mapped.state(page) == MappedState::absent) continue;
        const pages::PageWord word = words.read(page);
        // A faster rank may have fetched the page again: then this one does not count as one that
        // maps it.
        const bool stays = word.state == PageState::home ||
                           (word.state == PageState::valid &&
                            (word.who == pages::PageWord::several || word.who == parts_.slot + 1));
        os::PageOutcome outcome;
        if (!stays) {
            outcome = drop({page, 1});
        } else if (word.state == PageState::home && sharers.is_tracked(page)) {
            outcome = own_.tracker.arm({page, 1});
        }
        if (first.is_ok()) first = outcome;
    }
    return first;
}

// Without memory for the list the page is dropped alone: the next touch is a fault.
void PageBarrier::fetch_again(PageNumber page) noexcept {
    const bool continues_run = !again_.empty() && again_.back().first + again_.back().count == page;
    if (continues_run) {
        ++again_.back().count;
        return;
    }
    try {
        again_.push_back({page, 1});
    } catch (const std::bad_alloc&) {  // the list stays as it is
    }
}

// Counts a page that the caller drops, if a stream fetched it in vain.
void PageBarrier::count_unused(PageNumber page) noexcept {
    if (own_.mapped.take_ahead(page))
        parts_.counters.calls.unused.fetch_add(1, std::memory_order_relaxed);
}

os::PageOutcome PageBarrier::drop(PageRange pages) {
    for (PageNumber page = pages.first; page < pages.first + pages.count; ++page) {
        const bool was_wanted = own_.mapped.take_wanted(page);
        const bool was_mapped = own_.mapped.state(page) != MappedState::absent;
        const DroppedAs as = was_wanted   ? DroppedAs::wanted
                             : was_mapped ? DroppedAs::mapped
                                          : DroppedAs::absent;
        count_unused(page);
        if (own_.updates.drop(page, as)) fetch_again(page);
    }
    return unmap(pages);
}

// One system call for each run that is mapped.
os::PageOutcome PageBarrier::unmap(PageRange pages) {
    os::PageOutcome first;
    const auto is_mapped = [](MappedState state) { return state != MappedState::absent; };
    for_each_run(own_.mapped, pages, is_mapped, [&](PageRange run) {
        parts_.counters.calls.dropped.fetch_add(run.count, std::memory_order_relaxed);
        const os::PageOutcome outcome = own_.tracker.unmap(run);
        if (first.is_ok()) first = outcome;
        return true;
    });
    return first;
}

}  // namespace acp::dsm
