// SPDX-License-Identifier: BSD-3-Clause
// The shared pages of a job, as one of its ranks uses them: the window, what is allocated in it, and
// the calls of all ranks. Owns a team of all ranks, so that its calls and those of the program on
// other teams are independent.
// Collective calls: by one thread of each rank at a time; queries: any thread.
// Tests: tests/conformance/dsm_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"
#include "data/allocator.hpp"
#include "dsm/bound_ranges.hpp"
#include "dsm/child_touch.hpp"
#include "dsm/page_counters.hpp"
#include "dsm/rank_pages.hpp"
#include "dsm/window_memory.hpp"
#include "gma/gma.hpp"
#include "team/teams.hpp"

#include "pages/allocated_pages.hpp"
#include "pages/homes.hpp"

namespace acp::dsm {

// All of them outlive the shared pages.
struct SharedPagesTools {
    gma::Gma& gma;
    data::Allocator& allocator;
    team::Teams& teams;
    base::PageFaultWay fault_way;  // chooses the tracker in a job of several nodes
    std::uint64_t cache_bytes;     // the bound that RankPages::set_cache() gets
    base::PageCheck check;         // ACP_DSM_CHECK; checks writes in a job of several nodes
    // Binds bytes to a lock, or none (lock/locks.hpp).
    std::function<base::Status(memory::GlobalAddress, std::span<const std::byte>)> bind_lock;
};

class SharedPages {
public:
    // Collective. Errors, on all ranks: those of WindowMemory::open() and Teams::run(), and on several
    // nodes those of choose_tracker() and RankPages::start().
    //   bytes  1 .. bytes_max; rounded up to whole pages
    static base::Result<std::unique_ptr<SharedPages>> open(const SharedPagesTools& tools,
                                                           std::uint64_t bytes);

    // The epoch ends, or close() was called: unmaps the window.
    ~SharedPages();
    SharedPages(const SharedPages&) = delete;
    SharedPages& operator=(const SharedPages&) = delete;

    // Collective. The rank uses the window no more, also after an error but state: those of run().
    base::Status close();

    // Collective. Allocates whole pages, all zero. Returns the same address on all ranks. Errors:
    // argument (0 bytes), limit (no run of pages is free), and those of Teams::run().
    base::Result<char*> allocate(std::uint64_t bytes);

    // The same; the homes of the pages are where a rule says. Errors: as above.
    //   policy, argument  what the caller made the rule from: the same on all ranks
    base::Result<char*> allocate(std::uint64_t bytes,
                                 const pages::HomeRule& rule,
                                 std::uint8_t policy,
                                 std::uint32_t argument);

    // Collective: a barrier, at which the node of a rank becomes the home of the pages that have
    // bytes of a range. Errors: argument (as prefetch, on one node too), those of Teams::run() and RankPages::move().
    //   bytes  1 or more
    base::Status set_home(const void* address, std::uint64_t bytes, std::uint32_t rank);

    // The lowest rank of the node that is the home of a byte's page.
    // Errors: argument (the address lies in no allocation).
    [[nodiscard]] base::Result<std::uint32_t> home_of(const void* address) const;

    [[nodiscard]] pages::NodeNumber node_of(std::uint32_t rank) const noexcept {
        return places_.node_of[rank];
    }

    // Collective: a barrier, behind which the bytes of a range are bound to a lock, and those that were
    // bound to it no more. Up to operations::lock_bytes_max bytes travel with it, more stay in their pages
    // (dsm/long_ranges.hpp). Errors, on all ranks: argument (as set_home; a byte is bound to another
    // lock), those of Teams::run(), of `bind_lock` and of RankPages::synchronize(); system.
    //   bytes  0: none are bound to it; all_bytes, with address nullptr: all pages of the window, also
    //          those that are allocated later
    base::Status bind(memory::GlobalAddress lock, const void* address, std::uint64_t bytes);

    static constexpr std::uint64_t all_bytes = ~std::uint64_t{0};

    // The range that is bound to a lock, until the next bind() of the lock; nullptr: there is none.
    [[nodiscard]] BoundRange* bound_to(memory::GlobalAddress lock) const noexcept {
        return bound_->find(lock);
    }

    // Does so for a caller that knows that bytes are bound to the lock.
    [[nodiscard]] BoundRange* find_bound(memory::GlobalAddress lock) const noexcept {
        return bound_->find_bound(lock);
    }

    // The calling thread has got the lock, with this record: the pages get the bytes of the range as of
    // the last release. After an error the thread does not hold the lock; a log (BoundWay::logged) that
    // follows a death is released with it all the same.
    // Errors: as PageFetcher::fetch, LongRanges::enter.
    //   thread    the number of the calling thread in its process
    //   has_died  a holder died and had not released the lock
    base::Status enter_bound(BoundRange& range,
                             std::span<const std::byte> record,
                             std::uint32_t thread,
                             bool has_died);

    // The calling thread is about to release the lock: fills the record, also after an error.
    // Errors: as LongRanges::leave.
    //   record  BoundRange::record_bytes long
    base::Status leave_bound(BoundRange& range, std::uint32_t thread, std::span<std::byte> record);

    // The thread has released the lock with the record that leave_bound() has filled.
    void end_bound(BoundRange& range,
                   std::uint32_t thread,
                   std::span<const std::byte> record) noexcept;

    // Whether the node has the pages of a range, so that bound_bytes() are at hand.
    [[nodiscard]] bool has_bound_pages(const BoundRange& range) const noexcept {
        return rank_ == nullptr || rank_->bound_pages().has_pages(range);
    }

    // The bytes of a range in memory that does not fault, if the node has the pages.
    [[nodiscard]] std::span<std::byte> bound_bytes(const BoundRange& range) const noexcept {
        if (rank_ != nullptr) return rank_->bound_pages().bytes_of(range);
        return {reinterpret_cast<std::byte*>(window().tracked(0)) + range.first, range.bytes};
    }

    // The calling thread is about to release the lock.
    void report_bound(const BoundRange& range) const noexcept {
        if (rank_ != nullptr) rank_->bound_pages().report(range);
    }

    // Collective: a barrier, after which no rank uses the allocation. Errors: argument (no
    // allocation begins there), state (bytes of it are bound to a lock), and those of Teams::run().
    base::Status free(const void* address);

    // Collective: after it each rank reads what any rank wrote before it. Errors: those of
    // Teams::run().
    base::Status synchronize();

    // Fetches the pages of a range that the node lacks, and maps them.
    // Errors: argument (a byte lies in no shared page, or a page in no allocation), and as
    // RankPages::prefetch.
    //   bytes  1 or more
    base::Status prefetch(const void* address, std::uint64_t bytes);

    // Begins to send what this rank has written in a range to the homes. Errors: argument (as
    // prefetch), and as RankPages::flush.
    //   bytes  1 or more
    base::Status flush(const void* address, std::uint64_t bytes);

    // Returns when all that flush() began has been sent. Before a meeting of all ranks behind which the
    // heaps end.
    void finish_flushes() noexcept {
        if (rank_ != nullptr) rank_->finish_flushes();
    }

    // Exchanges writes to a range with the homes (PageFence). Errors: argument (as prefetch), and as
    // PageFence::synchronize.
    //   bytes  1 or more
    base::Status fence(const void* address, std::uint64_t bytes);

    // Chooses whether barriers fetch pages again that this rank has mapped.
    // Errors: argument (as above).
    //   bytes  1 or more
    base::Status choose_update(const void* address, std::uint64_t bytes, UpdateChoice choice);

    // RankPages::set_cache(); no effect on one node.
    void set_cache(std::uint64_t bytes) noexcept {
        if (rank_ != nullptr) rank_->set_cache(bytes);
    }

    // The bound, rounded to pages; 0: none.
    [[nodiscard]] std::uint64_t cache_bytes() const noexcept {
        return rank_ == nullptr ? 0 : rank_->cache_pages() * pages::page_bytes;
    }

    // The copies of other nodes' pages of which the node has memory.
    [[nodiscard]] std::uint64_t bytes_cached() const noexcept {
        return rank_ == nullptr ? 0 : window().clock().count() * pages::page_bytes;
    }

    // The bytes of a range of the window in the plain mapping, fetched if another node has them. What
    // is written there before the next barrier counts as written to the window.
    // Errors: argument (a page lies in no allocation), and as PageFetcher::fetch.
    //   bytes  1 or more, all in the window
    base::Result<char*> plain(char* address, std::uint64_t bytes, bool is_written);

    // The global address of a byte, in the memory of its home. It holds until the next barrier.
    // Errors: argument (the address lies in no allocation).
    [[nodiscard]] base::Result<memory::GlobalAddress> address_of(const void* address) const;

    [[nodiscard]] const Window& window() const noexcept { return memory_->window(); }

    // Of all pages that can be allocated.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return allocations_->page_count() * pages::page_bytes;
    }

    [[nodiscard]] const PageCounters& counters() const noexcept { return counters_; }

    static constexpr std::uint64_t bytes_max = std::uint64_t{1} << 43;

private:
    // Bytes of the window.
    struct PlainRange {
        std::uint64_t first = 0;
        std::uint64_t bytes = 0;
    };

    // The nodes of the window, and the ranks.
    struct Places {
        std::vector<pages::NodeNumber> node_of;    // the node of a rank
        std::vector<std::uint32_t> first_rank_of;  // the lowest rank of a node
    };

    struct Parts {
        std::unique_ptr<WindowMemory> memory;
        std::unique_ptr<BoundRanges> bound = std::make_unique<BoundRanges>();
        std::unique_ptr<pages::AllocatedPages> allocations;
        std::unique_ptr<RankPages> rank;  // nullptr on one node, where the window is plain memory
    };

    SharedPages(const SharedPagesTools& tools, team::TeamHandle ranks, Places places, Parts parts);

    static base::Status start_rank(team::Team& team, const SharedPagesTools& tools, Parts& parts);
    base::Result<char*> allocate(const team::Signature& call,
                                 std::uint64_t bytes,
                                 const pages::HomeRule& rule);
    [[nodiscard]] base::Result<pages::NodeNumber> home_node_of(const void* address) const;
    [[nodiscard]] base::Status check_range(const void* address, std::uint64_t bytes) const;
    [[nodiscard]] base::Status check_allocated(const void* address, std::uint64_t bytes) const;
    [[nodiscard]] base::Status check_range_of_all(const void* address, std::uint64_t bytes) const;
    bool free_on_nodes(team::Team& team, PageRange pages, base::Status& refusal);
    [[nodiscard]] base::Status check_free(memory::GlobalAddress lock, PlainRange range) const;
    bool bind_in_call(team::Team& team,
                      memory::GlobalAddress lock,
                      PlainRange range,
                      base::Status& refusal);
    base::Status bind_lock(memory::GlobalAddress lock, PlainRange range);
    [[nodiscard]] BoundWay way_of(std::uint64_t bytes) const noexcept;
    void count_allocations() noexcept;

    SharedPagesTools tools_;
    team::TeamHandle ranks_;  // all ranks
    Places places_;
    std::unique_ptr<WindowMemory> memory_;
    std::unique_ptr<BoundRanges> bound_;
    std::unique_ptr<pages::AllocatedPages> allocations_;
    std::unique_ptr<RankPages> rank_;
    // On one node. nullptr: the kernel refused the handler, and children of fork() end without a
    // sentence.
    std::unique_ptr<ChildTouchWatch> child_touches_;
    PageCounters& counters_;
};

}  // namespace acp::dsm
