// SPDX-License-Identifier: BSD-3-Clause
// Batches of copies: held, unmapped, flushed, given back.
#include "dsm/page_evictor.hpp"

#include <algorithm>

#include "base/fence.hpp"
#include "dsm/copy_memory.hpp"
#include "dsm/word_waits.hpp"
#include "node/public_call.hpp"
#include "os/cancellation.hpp"

namespace acp::dsm {

namespace {

using base::Status;
using pages::PageNumber;
using pages::PageState;

}  // namespace

// The right of one thread of the rank to drop copies.
class PageEvictor::Turn {
public:
    // Waits for another thread; but not for this one, which a signal has interrupted.
    explicit Turn(PageEvictor& evictor) noexcept : evictor_(evictor) {
        const std::uint64_t self = evictor_.parts_.peers.own_thread();
        std::uint64_t seen = 0;
        // acquire: what the last owner of the turn wrote; partner: the destructor
        while (!evictor_.turn_.compare_exchange_strong(seen, self, std::memory_order_acquire,
                                                       std::memory_order_relaxed)) {
            if (seen == self) return;
            // seq_cst, as in the destructor: of a thread that will sleep and one that ends its turn,
            // either this one sees the end, or that one sees the waiter
            evictor_.turn_waiters_.fetch_add(1, std::memory_order_seq_cst);
            if (evictor_.turn_.load(std::memory_order_seq_cst) == seen)
                evictor_.parts_.peers.wait_while(evictor_.turn_, seen);
            evictor_.turn_waiters_.fetch_sub(1, std::memory_order_relaxed);
            seen = 0;
        }
        is_own_ = true;
    }

    ~Turn() {
        if (!is_own_) return;
        evictor_.turn_.store(0, std::memory_order_seq_cst);
        if (evictor_.turn_waiters_.load(std::memory_order_seq_cst) != 0)
            evictor_.parts_.peers.wake(evictor_.turn_);
    }

    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    [[nodiscard]] bool is_own() const noexcept { return is_own_; }

private:
    PageEvictor& evictor_;
    bool is_own_ = false;
};

std::uint64_t PageEvictor::copies_max_of(std::uint64_t bytes) noexcept {
    return bytes == 0 ? 0 : std::max(bytes / pages::page_bytes, copies_least);
}

bool PageEvictor::make_room() noexcept {
    const std::uint64_t copies_max = parts_.node.copies_max();
    const pages::CacheClock<> clock = parts_.window.clock();
    if (copies_max == 0 || clock.count() < copies_max) return true;
    const node::PublicCall named("an eviction of copies of shared pages");
    const os::CancellationHold hold;
    const Turn turn(*this);
    if (!turn.is_own()) return false;
    if (clock.count() < copies_max) return true;
    if (pause_left_ != 0) {
        --pause_left_;
        return false;
    }
    // Room for more faults than this one: their system calls and operations at homes are shared. No
    // less than an instruction touches, which would lose its first page to the fault of its second.
    const std::uint64_t least = tracker_->maps_whole_blocks() ? 4 * Tracker::block_pages : 8;
    const std::uint64_t room = std::clamp<std::uint64_t>(copies_max / 16, least, batch_max);
    shrink_to(copies_max - std::min(copies_max, room));
    return clock.count() < copies_max;
}

void PageEvictor::shrink_to(std::uint64_t copies_max) noexcept {
    const pages::CacheClock<> clock = parts_.window.clock();
    pages::CacheClock<>::Sweep sweep(clock);
    std::uint64_t dropped = 0;
    std::array<PageNumber, batch_max> found;  // NOLINT(*-member-init): next() writes it
    for (std::uint32_t batches = 0; batches < batches_max;) {
        const std::uint64_t count = clock.count();
        if (count <= copies_max) break;
        const std::size_t wanted = std::min<std::uint64_t>(count - copies_max, batch_max);
        const std::size_t size = sweep.next(std::span(found).first(wanted));
        if (size == 0) break;
        hold(std::span(found).first(size));
        if (victims_count_ == 0) continue;
        unmap();
        send();
        const std::uint64_t given_back = give_back();
        dropped += given_back;
        if (given_back != 0) ++batches;
    }
    if (dropped == 0) pause_left_ = vain_pause;
    counts_.pages.fetch_add(dropped, std::memory_order_relaxed);
}

void PageEvictor::hold(std::span<const PageNumber> found) noexcept {
    victims_count_ = 0;
    if (!tracker_->maps_whole_blocks()) {
        for (const PageNumber page : found) (void)hold_page(page);
        return;
    }
    PageNumber last_block = ~PageNumber{0};
    for (const PageNumber page : found) {
        const PageNumber block = page / Tracker::block_pages;
        if (block == last_block) continue;
        last_block = block;
        if (victims_count_ + Tracker::block_pages > batch_max) return;
        const PageNumber first = block * Tracker::block_pages;
        hold_block({first, std::min(Tracker::block_pages, mapped_.pages() - first)});
    }
}

// A fault on any page of the block would map all of them again.
void PageEvictor::hold_block(PageRange block) noexcept {
    const pages::CacheClock<> clock = parts_.window.clock();
    const std::size_t before = victims_count_;
    for (PageNumber page = block.first; page < block.first + block.count; ++page) {
        if (!clock.is_cached(page) || hold_page(page)) continue;
        for (std::size_t i = before; i < victims_count_; ++i) keep(victims_[i]);
        victims_count_ = before;
        return;
    }
}

bool PageEvictor::hold_page(PageNumber page) noexcept {
    const auto is_dead = [this](pages::SlotNumber slot) { return parts_.peers.is_dead(slot); };
    const auto before = parts_.window.page_words().begin_drop(page, parts_.slot, is_dead);
    if (!before) return false;
    Victim& victim = victims_[victims_count_];
    victim = {page, *before, MappedState::absent, false};
    // The clock's bit may be older than the drop by another thread. The home lacks bytes that travel with
    // locks.
    const bool has_travelling = before->state == PageState::valid && parts_.bound != nullptr &&
                                parts_.bound->has_travelling(page);
    if (has_travelling || !parts_.window.clock().is_cached(page) || mapped_.is_entered(page)) {
        keep(victim);
        return false;
    }
    ++victims_count_;
    return true;
}

// The page is as it was, except that it may be unmapped.
void PageEvictor::keep(Victim& victim) noexcept {
    victim.is_kept = true;
    parts_.window.page_words().cancel_drop(victim.page, parts_.slot, victim.before);
    wake(victim.page);
}

// Successive victims, in any order of the runs.
template <typename IsWanted, typename Visit>
void PageEvictor::for_each_victim_run(const IsWanted& is_wanted, const Visit& visit) noexcept {
    PageRange run{};
    for (const Victim& victim : std::span(victims_).first(victims_count_)) {
        if (victim.is_kept || !is_wanted(victim)) continue;
        if (run.count != 0 && victim.page == run.first + run.count) {
            ++run.count;
            continue;
        }
        if (run.count != 0) visit(run);
        run = {victim.page, 1};
    }
    if (run.count != 0) visit(run);
}

void PageEvictor::unmap() noexcept {
    for (Victim& victim : std::span(victims_).first(victims_count_)) {
        const bool was_ahead = mapped_.take_ahead(victim.page);  // try_drop() forgets it
        if (const auto was = mapped_.try_drop(victim.page)) {
            victim.was = *was;
            if (was_ahead) parts_.counters.calls.unused.fetch_add(1, std::memory_order_relaxed);
        } else {
            if (was_ahead) mapped_.fetch_ahead(victim.page);
            keep(victim);
        }
    }
    const auto was_mapped = [](const Victim& victim) { return victim.was != MappedState::absent; };
    for_each_victim_run(was_mapped, [this](PageRange run) {
        if (tracker_->unmap(run).is_ok()) return;
        // The kernel still maps the pages: their writes cannot be excluded.
        for (Victim& victim : std::span(victims_).first(victims_count_)) {
            if (victim.is_kept || victim.page - run.first >= run.count) continue;
            (void)mapped_.map(victim.page, MappedState::written);
            keep(victim);
        }
    });
}

// The page may have writes that no harvest found.
bool PageEvictor::may_be_written(const Victim& victim) const noexcept {
    if (victim.before.state != PageState::valid || victim.was == MappedState::absent) return false;
    return victim.was == MappedState::written || tracker_->kind() == TrackerKind::async;
}

void PageEvictor::send() noexcept {
    std::array<PageNumber, batch_max> unsent;  // NOLINT(*-member-init): its first ones are written
    std::size_t count = 0;
    for (const Victim& victim : std::span(victims_).first(victims_count_)) {
        if (victim.is_kept) continue;
        if (may_be_written(victim)) {
            parts_.node.add_written({victim.page, 1});
        } else if (!parts_.node.has_unsent(victim.page)) {
            continue;
        }
        unsent[count] = victim.page;
        ++count;
    }
    // A page that stays unsent stays a copy.
    (void)flusher_.flush_held(std::span<const PageNumber>(unsent).first(count), counts_.sent);
}

void PageEvictor::wake(PageNumber page) const noexcept {
    wake_waiters(parts_.node, parts_.peers, parts_.window.page_words().word(page));
}

// Returns how many copies went.
std::uint64_t PageEvictor::give_back() noexcept {
    // Partner: Flusher::copy_of(). Either it finds the page held, or this thread finds it unsent.
    base::fence(std::memory_order_seq_cst);
    for (Victim& victim : std::span(victims_).first(victims_count_))
        if (!victim.is_kept && parts_.node.has_unsent(victim.page)) keep(victim);
    for_each_victim_run([](const Victim&) { return true; },
                        [this](PageRange run) { give_back_copies(parts_.window, run); });
    std::uint64_t count = 0;
    for (const Victim& victim : std::span(victims_).first(victims_count_)) {
        if (victim.is_kept) continue;
        parts_.window.clock().remove(victim.page);
        (void)parts_.window.page_words().abandon(victim.page, parts_.slot);
        wake(victim.page);
        ++count;
    }
    victims_count_ = 0;
    return count;
}

Status PageEvictor::send_left(PageNumber page) {
    while (parts_.node.has_unsent(page)) {
        Status status = flusher_.flush_held(page);
        if (!status.is_ok()) return status;
        // Another rank flushes the group, maybe this page too.
        const std::uint64_t group = page / NodeState<>::group_pages;
        wait_for_change(
            parts_.node, parts_.peers, parts_.node.claim_word(group), [&](std::uint64_t claim) {
                return claim != 0 &&
                       !parts_.peers.is_dead(static_cast<pages::SlotNumber>(claim - 1)) &&
                       parts_.node.has_unsent(page);
            });
    }
    return {};
}

}  // namespace acp::dsm
