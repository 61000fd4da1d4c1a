// SPDX-License-Identifier: BSD-3-Clause
// What the merged notices of all nodes mean for the pages of one node: which copies go, which pages
// become its own or another node's, and which it keeps. All nodes decide the homes alike from the
// same notices, so none asks another one. The memory is shared by the node's processes: one of them
// decides in each barrier, while no living process of the node touches pages; another one repeats
// the call if that dies. Knows no address, network or mapping.
//
// The rules, for the copy of a page on a node that is not its home:
//   1. A page that only this node wrote stays: its home has the same bytes.
//   2. Any other page with a notice goes. So does, in spite of 1, a page whose home tracks its writes
//      from now on (notice_shared): the home may have written it unnoticed.
// A page moves to the node that alone wrote it in two epochs running (HomeTable::decide), and all
// other copies go, also the old home's. A page with notice_shared does not move, for the writer's
// copy may lack unnoticed writes of the home. Therefore a node that wrote a page and has dropped its
// copy before the barrier sends notice_shared with its notice, though it is not the home: a new home
// needs the bytes.
// Tests: tests/unit/pages/barrier_decision_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "pages/homes.hpp"
#include "pages/notices.hpp"
#include "pages/page.hpp"
#include "pages/page_word.hpp"
#include "pages/sharers.hpp"

namespace acp::pages {

// A barrier's effect on a page of one node; a page without one stays as it is.
enum class PageFate : std::uint8_t {
    dropped,  // the copy went, if there was one: each process unmaps the page
    lost,     // the same, and this node was the page's home until now
    gained,   // this node is the home from now on; its copy has the newest bytes
    tracked,  // this node is the home, and tracks its writes from now on
    evicted   // the node gave its copy up to keep its bound: each process unmaps the page
};

struct FateRun {
    PageNumber first = 0;
    std::uint64_t count = 0;
    PageFate fate = PageFate::dropped;

    bool operator==(const FateRun&) const = default;
};

template <template <class> class Atomic = std::atomic>
class BarrierDecision {
public:
    //   node   this one
    //   words, homes, sharers  of this node
    BarrierDecision(NodeNumber node,
                    PageWords<Atomic> words,
                    HomeTable<Atomic> homes,
                    Sharers<Atomic> sharers) noexcept
        : node_(node), words_(words), homes_(homes), sharers_(sharers) {}

    // This node's notice of a page that it wrote.
    [[nodiscard]] NoticeRun notice_of_write(PageNumber page) const noexcept {
        const PageState state = words_.read(page).state;
        const bool has_bytes = state == PageState::valid || state == PageState::home;
        return {page, 1,
                static_cast<NoticeKinds>(notice_written | (has_bytes ? 0 : notice_shared))};
    }

    // Changes the words and the homes of the pages. If a process repeats the call of one that died,
    // `dropped` may stand in place of `lost`.
    //   merged  the notices of all nodes
    //   epoch   of the barrier
    // Returns the pages to act on, in ascending order; neighbours differ; valid until the next call.
    [[nodiscard]] std::span<const FateRun> settle(std::span<const MergedRun> merged,
                                                  std::uint64_t epoch) {
        fates_.clear();
        for (const MergedRun& run : merged) {
            for (PageNumber page = run.first; page < run.first + run.count; ++page) {
                settle_page(page, run, epoch);
            }
        }
        sharers_.end_due();
        return fates_;
    }

private:
    void settle_page(PageNumber page, const MergedRun& run, std::uint64_t epoch) {
        const bool is_shared = (run.kinds & notice_shared) != 0;
        const bool is_written = (run.kinds & notice_written) != 0;
        const bool has_moved = is_written && homes_.decide(page, run.writer, epoch, !is_shared);
        const NodeNumber home = homes_.home(page);
        if (home == node_) {
            if (has_moved) words_.become_home(page);
            if (has_moved || is_shared) add(page, has_moved ? PageFate::gained : PageFate::tracked);
        } else if (has_moved && words_.read(page).state == PageState::home) {
            sharers_.clear(page);
            words_.lose_home(page, false);
            add(page, PageFate::lost);
        } else if (is_shared || run.writer != node_) {
            words_.invalidate(page);
            add(page, PageFate::dropped);
        }
    }

    void add(PageNumber page, PageFate fate) {
        FateRun* const before = fates_.empty() ? nullptr : &fates_.back();
        if (before != nullptr && before->fate == fate && before->first + before->count == page) {
            ++before->count;
        } else {
            fates_.push_back({page, 1, fate});
        }
    }

    NodeNumber node_;
    PageWords<Atomic> words_;
    HomeTable<Atomic> homes_;
    Sharers<Atomic> sharers_;
    std::vector<FateRun> fates_;  // its memory stays for the next epoch
};

}  // namespace acp::pages
