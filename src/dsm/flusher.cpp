// SPDX-License-Identifier: BSD-3-Clause
// Groups of pages, claimed one after the other.
#include "dsm/flusher.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "base/fence.hpp"
#include "dsm/page_call_name.hpp"
#include "dsm/word_waits.hpp"
#include "node/public_call.hpp"

#include "pages/page_merge.hpp"

namespace acp::dsm {

namespace {

using base::Status;
using pages::NodeNumber;
using pages::PageNumber;
using pages::PageState;

constexpr std::uint64_t group_pages = NodeState<>::group_pages;

// The pages of a group that are in a range, a bit each.
std::uint64_t mask_of(std::uint64_t group, PageRange pages) noexcept {
    const PageNumber first = group * group_pages;
    const PageNumber begin = std::max(first, pages.first);
    const PageNumber end = std::min(first + group_pages, pages.first + pages.count);
    const std::uint64_t count = end - begin;
    const std::uint64_t ones =
        count == group_pages ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    return ones << (begin - first);
}

PageNumber first_of(std::uint64_t group, std::uint64_t mask) noexcept {
    return group * group_pages + static_cast<std::uint64_t>(std::countr_zero(mask));
}

// The groups that have a page of a range.
std::uint64_t groups_end(PageRange pages) noexcept {
    return (pages.first + pages.count + group_pages - 1) / group_pages;
}

void keep_first(Status& first, Status status) {
    if (first.is_ok()) first = std::move(status);
}

}  // namespace

void PageParts::leave_out_travelling(PageNumber page, pages::PageSpan copy) const noexcept {
    if (bound == nullptr) return;
    bound->for_each_in({page, 1}, [&](const BoundRange& range) {
        if (range.way == BoundWay::travels) copy_bound(range, page, window.twin(page), copy);
    });
}

void PageParts::leave_out_bound(PageNumber page, pages::PageSpan copy) const noexcept {
    if (bound == nullptr) return;
    bound->for_each_in({page, 1}, [&](const BoundRange& range) {
        if (range.way == BoundWay::travels || is_left_by_dead(range))
            copy_bound(range, page, window.twin(page), copy);
    });
}

void PageParts::note_sent(PageNumber page) const noexcept {
    node.add_flushed(page);
    window.page_words().note_write(page, node.next_epoch());
    if (bound == nullptr) return;
    bound->for_each_in({page, 1}, [&](const BoundRange& range) {
        if (range.way == BoundWay::logged) locks.note_changed(range, page);
    });
}

// The claim of a group, while it lives.
class Flusher::Claim {
public:
    Claim(const PageParts& parts, std::uint64_t group) : parts_(parts), group_(group) {
        try_again();
    }

    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    ~Claim() {
        if (is_refused()) return;
        parts_.node.release_claim(group_);
        wake_waiters(parts_.node, parts_.peers, parts_.node.claim_word(group_));
    }

    [[nodiscard]] bool is_refused() const noexcept { return claim_ == GroupClaim::refused; }

    // A dead rank had it.
    [[nodiscard]] bool is_inherited() const noexcept { return claim_ == GroupClaim::inherited; }

    // Until it is not refused.
    void wait() {
        while (is_refused()) {
            wait_for_change(parts_.node, parts_.peers, parts_.node.claim_word(group_),
                            [this](std::uint64_t claim) {
                                return claim != 0 &&
                                       !is_dead(static_cast<pages::SlotNumber>(claim - 1));
                            });
            try_again();
        }
    }

private:
    [[nodiscard]] bool is_dead(pages::SlotNumber slot) const { return parts_.peers.is_dead(slot); }

    void try_again() {
        claim_ = parts_.node.claim(group_, parts_.slot,
                                   [this](pages::SlotNumber slot) { return is_dead(slot); });
    }

    const PageParts& parts_;
    std::uint64_t group_;
    GroupClaim claim_ = GroupClaim::refused;
};

Status Flusher::flush(PageRange pages) {
    return flush_written(pages, false);
}

Status Flusher::flush_held(PageNumber page) {
    return flush_written({page, 1}, true);
}

Status Flusher::flush_held(std::span<const PageNumber> pages, FlushCounts& also_counts) {
    const std::lock_guard lock(mutex_);
    also_counts_ = &also_counts;
    Status first;
    while (!pages.empty()) {
        const std::size_t count = std::min(pages.size(), in_flight_max);
        keep_first(first, flush_few_held(pages.first(count)));
        pages = pages.subspan(count);
    }
    also_counts_ = nullptr;
    return first;
}

//   pages  in_flight_max at most
Status Flusher::flush_few_held(std::span<const PageNumber> pages) {
    std::array<std::optional<Claim>, in_flight_max>
        claims;  // one for each group, at its first page
    const auto claim_of = [&](PageNumber page) -> Claim& {
        std::size_t i = 0;
        while (pages[i] / group_pages != page / group_pages) ++i;
        if (!claims[i]) claims[i].emplace(parts_, page / group_pages);
        return *claims[i];
    };
    Status first;
    for (const PageNumber page : pages) {
        Claim& claim = claim_of(page);
        if (!claim.is_inherited()) continue;
        keep_first(first, complete_journals(page / group_pages));
    }
    for (const PageNumber page : pages)
        if (!claim_of(page).is_refused() && parts_.node.has_unsent(page)) begin(page, true);
    keep_first(first, finish_all());
    return first;
}

Status Flusher::flush_written(PageRange pages, bool is_held) {
    const std::lock_guard lock(mutex_);
    Status first;
    for (std::uint64_t group = pages.first / group_pages; group < groups_end(pages); ++group) {
        const std::uint64_t mask = mask_of(group, pages);
        if ((parts_.node.to_flush(group) & mask) == 0) continue;
        const Claim claim(parts_, group);
        if (claim.is_refused()) continue;
        if (claim.is_inherited()) keep_first(first, complete_journals(group));
        keep_first(first, flush_group(group, mask, is_held));
    }
    return first;
}

Status Flusher::flush_group(std::uint64_t group, std::uint64_t mask, bool is_held) {
    Status first;
    std::uint64_t pages = parts_.node.to_flush(group) & mask;
    for (; pages != 0; pages &= pages - 1) {
        if (sending_count_ == in_flight_max) keep_first(first, finish_all());
        begin(first_of(group, pages), is_held);
    }
    keep_first(first, finish_all());
    return first;
}

Status Flusher::flush_all(PageRange pages) {
    return flush_waiting(pages, nullptr);
}

Status Flusher::flush_copies(PageRange pages, SentPages& next) {
    return flush_waiting(pages, &next);
}

//   next  nullptr: the written pages alone
Status Flusher::flush_waiting(PageRange pages, SentPages* next) {
    Status first;
    for (std::uint64_t group = pages.first / group_pages; group < groups_end(pages); ++group) {
        std::uint64_t mask = mask_of(group, pages);
        while (mask != 0 && (next != nullptr || (parts_.node.to_flush(group) & mask) != 0)) {
            keep_first(first, flush_waiting_group(group, mask, next));
            // Not in the call above: the thread that moves the page may wait for this flusher.
            if (mask != 0) wait_until_moved(first_of(group, mask));
        }
    }
    return first;
}

//   mask  some pages of the group; at the end those that other threads move
Status Flusher::flush_waiting_group(std::uint64_t group, std::uint64_t& mask, SentPages* next) {
    const PageNumber page = first_of(group, mask);
    const PageCallName name(next == nullptr ? "a flush" : "a fence", page,
                            parts_.window.homes().home(page));
    const node::PublicCall named(name.text());
    const std::lock_guard lock(mutex_);
    Claim claim(parts_, group);
    claim.wait();
    Status first;
    if (claim.is_inherited()) first = complete_journals(group);
    if (next == nullptr) mask &= parts_.node.to_flush(group);
    std::uint64_t moving = 0;
    for (; mask != 0; mask &= mask - 1) {
        if (sending_count_ == in_flight_max) keep_first(first, finish_copies(next));
        const PageNumber of = first_of(group, mask);
        if (!(next == nullptr ? begin(of, false) : begin_copy(of))) moving |= mask & (~mask + 1);
    }
    keep_first(first, finish_copies(next));
    mask = moving;
    return first;
}

// After NodeState::begin_flush().
Flusher::CopyState Flusher::copy_of(PageNumber page) const {
    // Partner: an eviction, which holds the page word, and then keeps a page that to_flush() has.
    base::fence(std::memory_order_seq_cst);
    const pages::PageWord word = parts_.window.page_words().read(page);
    switch (word.state) {
        case PageState::valid:
        case PageState::home:
            return CopyState::here;
        case PageState::held:
            if (!parts_.peers.is_dead(word.who - 1)) return CopyState::moving;
            break;
        case PageState::absent:
            break;
    }
    return CopyState::gone;
}

// A page that was written has its bytes until an eviction has sent them, also one that died before.
bool Flusher::is_left_by_dead(PageNumber page) const {
    const pages::PageWord word = parts_.window.page_words().read(page);
    return word.state == PageState::held && parts_.peers.is_dead(word.who - 1);
}

void Flusher::wait_until_moved(PageNumber page) const {
    const PageCallName name("a fence", page, parts_.window.homes().home(page));
    const node::PublicCall named(name.text());
    wait_for_change(parts_.node, parts_.peers, parts_.window.page_words().word(page),
                    [this](std::uint64_t packed) {
                        const pages::PageWord word = pages::PageWord::unpacked(packed);
                        return word.state == PageState::held && !parts_.peers.is_dead(word.who - 1);
                    });
}

// Returns false if another thread moves the page.
bool Flusher::begin(PageNumber page, bool is_held) {
    const NodeState<>& node = parts_.node;
    const NodeNumber home = parts_.window.homes().home(page);
    node.begin_flush(page);
    if (home == pages::no_node) {  // it was written outside of all allocations
        node.end_flush(page);
        return true;
    }
    if (home == parts_.window.node()) {
        parts_.note_sent(page);
        node.end_flush(page);
        return true;
    }
    const CopyState copy = is_held || is_left_by_dead(page) ? CopyState::here : copy_of(page);
    if (copy == CopyState::moving) node.add_written({page, 1});
    if (copy != CopyState::here) {
        node.end_flush(page);
        return copy == CopyState::gone;
    }
    PageFlush& sending = sending_[sending_count_];
    sending.page = page;
    sending.home = home;
    sending.is_copy = false;
    send(sending);
    if (sending.requests_count == 0) {
        node.end_flush(page);
    } else {
        ++sending_count_;
    }
    return true;
}

// begin() for a page that counts as written. A page that a dead rank moved is no copy; begin() sends its
// writes.
bool Flusher::begin_copy(PageNumber page) {
    const NodeState<>& node = parts_.node;
    const NodeNumber home = parts_.window.homes().home(page);
    if (home == pages::no_node || home == parts_.window.node()) return true;
    if (is_left_by_dead(page)) return !node.has_unsent(page) || begin(page, false);
    node.begin_flush(page);
    const CopyState copy = copy_of(page);
    if (copy == CopyState::moving) node.add_written({page, 1});
    if (copy != CopyState::here) {
        node.end_flush(page);
        return copy == CopyState::gone;
    }
    PageFlush& sending = sending_[sending_count_];
    sending.page = page;
    sending.home = home;
    sending.is_copy = true;
    send(sending);
    ++sending_count_;
    return true;
}

// Sends nothing if the difference is empty.
void Flusher::send(PageFlush& sending) {
    const Window& window = parts_.window;
    const PageNumber page = sending.page;
    const PageJournal journal = parts_.journals.of(parts_.slot);
    const pages::PageSpan copy = journal.copy(sending_count_);
    pages::copy_words(copy, window.plain(page));
    parts_.leave_out_bound(page, copy);
    sending.requests_count = 0;
    sending.difference = code_.make(sending.room, copy, window.twin(page));
    if (sending.difference.is_empty()) return;
    parts_.note_sent(page);
    journal.begin(sending_count_, JournalStep::sending, page);
    issue(sending);
    for (FlushCounts* const counts : {&parts_.counters.flushes, also_counts_}) {
        if (counts == nullptr) continue;
        counts->pages.fetch_add(1, std::memory_order_relaxed);
        counts->bytes.fetch_add(sending.difference.bytes().size(), std::memory_order_relaxed);
    }
}

void Flusher::issue(PageFlush& sending) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): next() writes it
    std::array<std::byte, operations::page_patch_bytes_max> room;
    const std::span<std::byte> used = std::span(room).first(parts_.link.patch_bytes_max());
    pages::DifferenceParts parts(sending.difference);
    for (pages::Difference part = parts.next(used); !part.is_empty(); part = parts.next(used)) {
        ACP_ASSERT(sending.requests_count < parts_max);
        sending.requests[sending.requests_count] =
            parts_.link.apply(sending.page, sending.home, part.bytes());
        ++sending.requests_count;
    }
}

// The twin changes when the home has changed: until then a rank that repeats this finds the writes.
Status Flusher::await(const PageFlush& sending) {
    Status first;
    for (std::size_t i = 0; i < sending.requests_count; ++i) {
        keep_first(first, parts_.link.wait(sending.requests[i]));
    }
    if (first.is_ok()) {
        code_.apply(parts_.window.twin(sending.page), sending.difference);
        return first;
    }
    parts_.node.add_written({sending.page, 1});
    return Status::worded(first.code(), [&] {
        return "the writes to shared page " + std::to_string(sending.page) +
               " did not reach its home, node " + std::to_string(sending.home) + ": " +
               std::string(first.message());
    });
}

// The page stays in NodeState::to_flush.
Status Flusher::finish(std::size_t index) {
    if (sending_[index].requests_count == 0) return {};
    Status status = await(sending_[index]);
    parts_.journals.of(parts_.slot).end(index);
    return status;
}

Status Flusher::finish_all() {
    Status first;
    for (std::size_t i = 0; i < sending_count_; ++i) {
        keep_first(first, finish(i));
        parts_.node.end_flush(sending_[i].page);
    }
    sending_count_ = 0;
    return first;
}

//   next  may be nullptr
Status Flusher::finish_copies(SentPages* next) {
    Status first;
    std::array<PageNumber, in_flight_max> sent{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < sending_count_; ++i) {
        Status status = finish(i);
        if (status.is_ok() && sending_[i].is_copy) sent[count++] = sending_[i].page;
        keep_first(first, std::move(status));
    }
    if (count != 0) keep_first(first, next->take(std::span(sent).first(count)));
    for (std::size_t i = 0; i < sending_count_; ++i) parts_.node.end_flush(sending_[i].page);
    sending_count_ = 0;
    return first;
}

// Other ranks, too, may have died here, one after the other.
Status Flusher::complete_journals(std::uint64_t group) {
    Status first;
    for (std::uint32_t slot = 0; slot < parts_.journals.ranks(); ++slot) {
        const PageJournal journal = parts_.journals.of(slot);
        for (std::size_t i = 0; i < PageJournal::pages_max; ++i) {
            const JournalEntry entry = journal.read(i);
            if (entry.step == JournalStep::none || entry.page / group_pages != group) continue;
            keep_first(first, complete(journal, i));
            journal.end(i);
        }
    }
    return first;
}

Status Flusher::complete(const PageJournal& journal, std::size_t index) {
    const JournalEntry entry = journal.read(index);
    const pages::PageSpan twin = parts_.window.twin(entry.page);
    if (entry.step == JournalStep::merging) {
        const pages::PageMerge<> merge(
            pages::words_of(parts_.window.plain(entry.page)), pages::words_of(twin),
            reinterpret_cast<const std::uint64_t*>(journal.copy(index).data()));
        merge.finish();
        return {};
    }
    // The holder of a lock may have died since.
    parts_.leave_out_bound(entry.page, journal.copy(index));
    PageFlush& sending = sending_[0];
    sending.page = entry.page;
    sending.home = parts_.window.homes().home(entry.page);
    sending.requests_count = 0;
    sending.difference = code_.make(sending.room, journal.copy(index), twin);
    if (sending.home == pages::no_node) return {};
    issue(sending);
    return await(sending);
}

}  // namespace acp::dsm
