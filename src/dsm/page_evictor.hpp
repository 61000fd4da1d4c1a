// SPDX-License-Identifier: BSD-3-Clause
// Keeps the copies of other nodes' pages within the node's bound (NodeState::copies_max): drops copies
// that the clock finds (pages/clock.hpp), a batch at a time, so that the next faults find room. It
// knows the rank's mapping and the flusher, and neither faults nor barriers.
//
// A copy that this rank alone maps goes in these steps, all pages of a batch together:
//   1. PageWords::begin_drop() holds the page: a thread that faults on it waits.
//   2. MappedPages::try_drop() refuses a page that a thread of the rank has entered: one that repairs a
//      fault of it, or lends it to a command (LentPages). Then the page stays as it is.
//   3. The tracker unmaps the page, so that no thread of the rank can write it.
//   4. The page becomes one of those that the node has to flush, and the flusher sends the difference
//      from the twin to the home, with operations of several pages in flight.
//   5. The memory of the copy and of the twin goes back to the kernel, the page leaves the clock, and
//      its word becomes absent.
// A copy that a barrier invalidated has its memory alone, and goes by the steps 1 and 5. Where the
// tracker gives all pages of a block the same rights, all copies of a block go together or not at all.
//
// Failures: a page whose writes did not reach the home, or that another rank is flushing, stays a valid
// copy. Of a rank that is killed between 3 and 5 the page is held by a dead process and is to be
// flushed (NodeState): send_left() of the next fetch does so, or a barrier, with the same effect.
// Threads: any, one of the rank at a time; the others wait for it. No call allocates, except where an
// operation fails.
// Tests: tests/unit/dsm/page_evictor_test.cpp, tests/conformance/dsm_cache_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dsm/copy_room.hpp"
#include "dsm/flusher.hpp"
#include "dsm/mapped_pages.hpp"
#include "dsm/tracker.hpp"

#include "pages/clock.hpp"
#include "pages/page_word.hpp"

namespace acp::dsm {

class PageEvictor final : public CopyRoom {
public:
    // The least bound that has an effect: what one instruction touches (four pages, or four blocks of a
    // tracker that maps whole blocks) stays while its faults are repaired.
    static constexpr std::uint64_t copies_least = 4 * Tracker::block_pages;
    // Pages that go together.
    static constexpr std::size_t batch_max = 64;

    //   flusher, mapped  outlive this
    PageEvictor(const PageParts& parts, Flusher& flusher, MappedPages<>& mapped) noexcept
        : parts_(parts), flusher_(flusher), mapped_(mapped), counts_(parts.counters.evictions) {}

    // The bound for a number of bytes; 0: none.
    [[nodiscard]] static std::uint64_t copies_max_of(std::uint64_t bytes) noexcept;

    // Before the first call of the others; the tracker outlives them.
    void start(Tracker& tracker) noexcept { tracker_ = &tracker; }

    bool make_room() noexcept override;
    base::Status send_left(pages::PageNumber page) override;

private:
    // Sweeps of one call that drop a batch each.
    static constexpr std::uint32_t batches_max = 16;
    // Calls that pass without a sweep after one that found nothing to drop.
    static constexpr std::uint32_t vain_pause = 8;

    struct Victim {
        pages::PageNumber page = 0;
        pages::PageWord before;                 // the page word when it was held
        MappedState was = MappedState::absent;  // the state in this rank's mapping
        bool is_kept = false;                   // it stays a copy
    };

    class Turn;

    void shrink_to(std::uint64_t copies_max) noexcept;
    void hold(std::span<const pages::PageNumber> found) noexcept;
    void hold_block(PageRange block) noexcept;
    bool hold_page(pages::PageNumber page) noexcept;
    void unmap() noexcept;
    [[nodiscard]] bool may_be_written(const Victim& victim) const noexcept;
    void send() noexcept;
    std::uint64_t give_back() noexcept;
    void wake(pages::PageNumber page) const noexcept;
    void keep(Victim& victim) noexcept;

    template <typename IsWanted, typename Visit>
    void for_each_victim_run(const IsWanted& is_wanted, const Visit& visit) noexcept;

    PageParts parts_;
    Flusher& flusher_;
    MappedPages<>& mapped_;
    Tracker* tracker_ = nullptr;
    EvictionCounts& counts_;
    std::atomic<std::uint64_t> turn_{0};          // the thread that drops copies, 0: none
    std::atomic<std::uint32_t> turn_waiters_{0};  // threads that wait for it
    // The rest belongs to the thread whose turn it is.
    std::uint32_t pause_left_ = 0;
    std::array<Victim, batch_max> victims_{};  // ascending by chance alone
    std::size_t victims_count_ = 0;
};

}  // namespace acp::dsm
