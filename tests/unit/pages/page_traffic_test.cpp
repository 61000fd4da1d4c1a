// SPDX-License-Identifier: BSD-3-Clause
// The page traffic of LAPLACE and of SOR on up to 1000 nodes, each a set of page words, homes and
// sharers in this process, with barriers that encode, parse, merge and settle notices as dsm/ does:
// what a node sends, fetches and loses in an epoch depends on its neighbours, not on the number of
// nodes. One thread.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "pages/barrier_decision.hpp"
#include "pages/notices.hpp"

namespace acp::pages {
namespace {

using Word = std::atomic<std::uint64_t>;

struct FreeMemory {
    void operator()(void* memory) const noexcept { std::free(memory); }
};

// Zero words. The kernel has a page of them only where a test stores.
class Words {
public:
    explicit Words(std::uint64_t bytes) : memory_(std::calloc(1, bytes)) {}

    [[nodiscard]] Word* get() const { return static_cast<Word*>(memory_.get()); }

private:
    std::unique_ptr<void, FreeMemory> memory_;
};

// Counters of one node in one epoch.
struct Traffic {
    std::uint64_t fetches = 0;
    std::uint64_t flushes = 0;
    std::uint64_t notices = 0;  // runs that it sends
    std::uint64_t marks = 0;    // marks of other nodes that its barrier takes
    std::uint64_t fates = 0;    // runs that it follows
    std::uint64_t moves = 0;    // homes that it gains or loses

    void take_most(const Traffic& other) {
        fetches = std::max(fetches, other.fetches);
        flushes = std::max(flushes, other.flushes);
        notices = std::max(notices, other.notices);
        marks = std::max(marks, other.marks);
        fates = std::max(fates, other.fates);
        moves = std::max(moves, other.moves);
    }
};

class TrafficNode {
public:
    TrafficNode(NodeNumber node, NodeNumber nodes, std::uint64_t pages)
        : node_(node),
          pages_(pages),
          word_memory_(PageWords<>::bytes(pages)),
          home_memory_(pages * sizeof(Word)),
          sharer_memory_(Sharers<>::bytes(pages, nodes)),
          words_(word_memory_.get(), pages),
          homes_(home_memory_.get(), pages, nodes),
          sharers_(sharer_memory_.get(), pages, nodes),
          decision_(node, words_, homes_, sharers_) {}

    void assign(const HomeRule& rule) {
        homes_.assign(0, pages_, rule);
        for (PageNumber page = 0; page < pages_; ++page) {
            if (homes_.home(page) == node_) words_.become_home(page);
        }
    }

    void touch(PageNumber page, std::vector<std::unique_ptr<TrafficNode>>& all) {
        const auto none_is_dead = [](SlotNumber) { return false; };
        if (words_.access(page, 0, none_is_dead) != PageAccess::fetch) return;
        ++now_.fetches;
        (void)all[homes_.home(page)]->sharers_.mark(page, node_);
        ASSERT_TRUE(words_.end_fetch(page, 0, true));
    }

    // A home that no node caches the page of does not notice its own write.
    void write(PageNumber page, std::vector<std::unique_ptr<TrafficNode>>& all) {
        touch(page, all);
        const bool is_home = homes_.home(page) == node_;
        if (is_home && !sharers_.is_tracked(page)) return;
        now_.flushes += is_home ? 0 : 1;
        written_.push_back(page);
    }

    std::vector<std::byte> notice(std::uint64_t epoch) {
        sharers_.take(epoch, [&](PageNumber, NodeNumber) { ++now_.marks; });
        NoticeMerger merger;
        for (const PageNumber page : written_) merger.add(decision_.notice_of_write(page), node_);
        sharers_.for_each_due([&](PageNumber page) {
            merger.add({page, 1, notice_shared}, node_);
        });
        written_.clear();
        const auto encoded = merger.encode();
        now_.notices = encoded.size() / notice_bytes;
        return {encoded.begin(), encoded.end()};
    }

    void settle(std::span<const MergedRun> merged, std::uint64_t epoch) {
        for (const FateRun& run : decision_.settle(merged, epoch)) {
            const bool is_move = run.fate == PageFate::gained || run.fate == PageFate::lost;
            now_.moves += is_move ? run.count : 0;
            // Most runs of `dropped` name pages that this node never had.
            now_.fates += run.fate == PageFate::dropped ? 0 : 1;
        }
    }

    [[nodiscard]] NodeNumber home(PageNumber page) const { return homes_.home(page); }

    // Begins the next epoch.
    Traffic take_traffic() { return std::exchange(now_, {}); }

private:
    NodeNumber node_;
    std::uint64_t pages_;
    Words word_memory_;
    Words home_memory_;
    Words sharer_memory_;
    PageWords<> words_;
    HomeTable<> homes_;
    Sharers<> sharers_;
    BarrierDecision<> decision_;
    std::vector<PageNumber> written_;
    Traffic now_;
};

class TrafficScene {
public:
    TrafficScene(NodeNumber nodes, std::uint64_t pages, const HomeRule& rule) {
        for (NodeNumber node = 0; node < nodes; ++node) {
            all_.push_back(std::make_unique<TrafficNode>(node, nodes, pages));
            all_.back()->assign(rule);
        }
    }

    [[nodiscard]] NodeNumber nodes() const { return static_cast<NodeNumber>(all_.size()); }

    void read(NodeNumber node, PageNumber page) { all_[node]->touch(page, all_); }

    void write(NodeNumber node, PageNumber page) { all_[node]->write(page, all_); }

    [[nodiscard]] NodeNumber home(PageNumber page) const {
        const NodeNumber home = all_.front()->home(page);
        EXPECT_EQ(all_.back()->home(page), home);
        return home;
    }

    // Returns the most that any node has done since the last barrier.
    Traffic synchronize(std::uint64_t pages) {
        ++epoch_;
        std::vector<std::vector<std::byte>> sent;
        for (auto& node : all_) sent.push_back(node->notice(epoch_));
        NoticeMerger merger;
        for (NodeNumber node = 0; node < nodes(); ++node) {
            const auto parsed = Notices::parse(sent[node], pages);
            EXPECT_TRUE(parsed.has_value());
            if (parsed) merger.add(*parsed, node);
        }
        const auto merged = merger.merge();
        Traffic most;
        for (auto& node : all_) {
            node->settle(merged, epoch_);
            most.take_most(node->take_traffic());
        }
        return most;
    }

private:
    std::vector<std::unique_ptr<TrafficNode>> all_;
    std::uint64_t epoch_ = 0;
};

constexpr HomeRule block_homes{HomePolicy::block, true, 1, 0};
constexpr HomeRule homes_on_node_0{HomePolicy::fixed, true, 1, 0};

class PageTraffic : public testing::TestWithParam<NodeNumber> {};

INSTANTIATE_TEST_SUITE_P(Nodes, PageTraffic, testing::Values(10U, 100U, 1000U));

// Two arrays of rows of a page each; a node has two rows of each, and both have a neighbour.
struct LaplaceTraffic {
    LaplaceTraffic(NodeNumber nodes, const HomeRule& rule)
        : rows(nodes * 2), scene(nodes, rows * 2, rule) {}

    Traffic step() {
        const PageNumber from = step_count % 2 * rows;
        const PageNumber to = rows - from;
        ++step_count;
        for (NodeNumber node = 0; node < scene.nodes(); ++node) {
            const PageNumber first = PageNumber{node} * 2;
            if (node > 0) scene.read(node, from + first - 1);
            if (node + 1 < scene.nodes()) scene.read(node, from + first + 2);
            scene.read(node, from + first);
            scene.read(node, from + first + 1);
            scene.write(node, to + first);
            scene.write(node, to + first + 1);
        }
        return scene.synchronize(rows * 2);
    }

    std::uint64_t rows;
    TrafficScene scene;
    std::uint64_t step_count = 0;
};

void expect_of_two_neighbours(const Traffic& most) {
    EXPECT_EQ(most.fetches, 2U);
    EXPECT_EQ(most.flushes, 0U);
    EXPECT_LE(most.notices, 2U);
    EXPECT_EQ(most.marks, 2U);
    EXPECT_LE(most.fates, 2U);
    EXPECT_EQ(most.moves, 0U);
}

// All homes are wrong at first, and follow the writers.
TEST_P(PageTraffic, of_laplace_depends_on_the_neighbours_alone) {
    LaplaceTraffic laplace(GetParam(), homes_on_node_0);
    for (int step = 0; step < 6; ++step) (void)laplace.step();
    for (PageNumber page = 0; page < 2 * laplace.rows; ++page)
        ASSERT_EQ(laplace.scene.home(page), page % laplace.rows / 2) << "page " << page;
    for (int step = 0; step < 4; ++step) expect_of_two_neighbours(laplace.step());
}

// One array of rows that are half a page longer than a page: the border page of two neighbours has
// both as writers.
TEST_P(PageTraffic, of_sor_depends_on_the_neighbours_alone) {
    const NodeNumber nodes = GetParam();
    constexpr std::uint64_t pages_of_node = 3;  // the last one is shared with the next node
    const std::uint64_t pages = nodes * pages_of_node + 1;
    TrafficScene scene(nodes, pages, block_homes);
    Traffic most;
    for (int sweep = 0; sweep < 12; ++sweep) {
        for (NodeNumber node = 0; node < nodes; ++node) {
            const PageNumber first = node * pages_of_node;
            for (PageNumber page = first; page <= first + pages_of_node; ++page)
                scene.write(node, page);
        }
        const Traffic now = scene.synchronize(pages);
        if (sweep >= 6) most.take_most(now);
    }
    EXPECT_GE(most.fetches, 1U);
    EXPECT_LE(most.fetches, 2U);
    EXPECT_LE(most.flushes, 2U);
    EXPECT_LE(most.notices, 3U);
    EXPECT_LE(most.marks, 2U);
    EXPECT_EQ(most.moves, 0U) << "a page of two writers stays";
}

}  // namespace
}  // namespace acp::pages
