// SPDX-License-Identifier: BSD-3-Clause
// Holders of a lock with a long range see what the holders before them wrote on any node: pages that
// changed are renewed and no others, bytes beside the range stay, and what a dead holder left on its node
// replaces nothing that later holders wrote. Random sections of the ranks of three nodes under a
// scheduler, beside flushes and fences.
#include "dsm/long_ranges.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <vector>

#include "unit/dsm/fake_nodes.hpp"

namespace acp::dsm::test {
namespace {

constexpr std::uint64_t pages_count = 60;
constexpr std::uint64_t page_bytes = pages::page_bytes;

// Reports what the test says.
class ToldTracker final : public Tracker {
public:
    os::PageOutcome map(PageRange /*pages*/, MapAs /*as*/) noexcept override { return {}; }

    os::PageOutcome admit(pages::PageNumber /*page*/,
                          os::FaultAccess /*access*/) noexcept override {
        return {};
    }

    os::PageOutcome unmap(PageRange /*pages*/) noexcept override { return {}; }

    os::PageOutcome arm(PageRange /*pages*/) noexcept override { return {}; }

    base::Status harvest(WrittenPages& /*written*/) noexcept override { return {}; }

    base::Status find_written(PageRange pages, WrittenPages& found) const noexcept override {
        for (const pages::PageNumber page : written)
            if (page - pages.first < pages.count) found.add({page, 1});
        return {};
    }

    [[nodiscard]] TrackerKind kind() const noexcept override { return TrackerKind::async; }

    std::set<pages::PageNumber> written;
};

// A rank of a node, with one range that is bound to a lock.
class Rank {
public:
    Rank(FakeNode& node, pages::SlotNumber slot, std::uint64_t first, std::uint64_t bytes)
        : node_(node),
          slot_(slot),
          range_(bind(first, bytes)),
          parts_(parts()),
          flusher_(parts_, operations::difference_code()),
          fence_(parts_, flusher_),
          mapped_(pages_count),
          lent_(mapped_),
          long_ranges_(parts_, flusher_, fence_, lent_) {
        long_ranges_.start(tracker_);
    }

    [[nodiscard]] base::Status enter(const pages::ChangeLog& record, bool has_died = false) {
        return long_ranges_.enter(range_, record.bytes(), has_died);
    }

    // Leaves, and releases the lock.
    void leave(pages::ChangeLog& record) {
        EXPECT_TRUE(long_ranges_.leave(range_).is_ok());
        record = range_.log;
        long_ranges_.end(range_, record.newest());
    }

    [[nodiscard]] std::byte read(std::uint64_t byte) {
        const pages::PageNumber page = byte / page_bytes;
        if (node_.window.page_words().read(page).state != pages::PageState::home)
            node_.fetch(page, slot_);
        return node_.window.plain(page)[byte % page_bytes];
    }

    void write(std::uint64_t byte, int value) {
        (void)read(byte);
        node_.window.plain(byte / page_bytes)[byte % page_bytes] = static_cast<std::byte>(value);
        tracker_.written.insert(byte / page_bytes);
    }

    [[nodiscard]] base::Status flush(PageRange pages) {
        NodeWrites writes(parts_.node);
        (void)tracker_.find_written(pages, writes);
        return flusher_.flush(pages);
    }

    [[nodiscard]] base::Status fence(PageRange pages) { return fence_.synchronize(pages); }

    [[nodiscard]] FakeNode& node() noexcept { return node_; }

    [[nodiscard]] pages::ChangeLog empty_record() const {
        return pages::ChangeLog(range_.first_release());
    }

private:
    BoundRange& bind(std::uint64_t first, std::uint64_t bytes) {
        ranges_.bind(1, first, bytes, BoundWay::logged);
        return *ranges_.find(1);
    }

    [[nodiscard]] PageParts parts() {
        PageParts parts = node_.parts(slot_);
        parts.bound = &ranges_;
        parts.locks = {reinterpret_cast<NodeLocks<>::Word*>(node_.window.state() +
                                                            NodeState<>::bytes(pages_count)),
                       pages_count};
        return parts;
    }

    FakeNode& node_;
    pages::SlotNumber slot_;
    BoundRanges ranges_;
    BoundRange& range_;
    PageParts parts_;
    Flusher flusher_;
    PageFence fence_;
    MappedPages<> mapped_;
    LentPages lent_;
    ToldTracker tracker_;
    LongRanges long_ranges_;
};

// Node 0 is the home of the first 20 pages. Each node has two ranks. The range begins and ends within
// pages.
class LongRangesTest : public testing::Test {
protected:
    static constexpr std::uint64_t first = 3 * page_bytes + 100;
    static constexpr std::uint64_t bytes = 10 * page_bytes;

    LongRangesTest() {
        make_nodes(nodes_, 3, pages_count);
        for (const auto& node : nodes_)
            for (pages::SlotNumber slot = 0; slot < 2; ++slot)
                ranks_.push_back(std::make_unique<Rank>(*node, slot, first, bytes));
        record_ = ranks_[0]->empty_record();
    }

    [[nodiscard]] Rank& rank(std::uint32_t node, pages::SlotNumber slot = 0) {
        return *ranks_[node * 2 + slot];
    }

    void enter(Rank& rank, bool has_died = false) {
        ASSERT_TRUE(rank.enter(record_, has_died).is_ok());
    }

    void write(Rank& rank, std::uint64_t byte, int value) {
        enter(rank);
        rank.write(byte, value);
        rank.leave(record_);
    }

    FakeNodes nodes_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    pages::ChangeLog record_;
};

TEST_F(LongRangesTest, the_next_holder_sees_what_the_last_one_wrote_on_any_node) {
    for (const std::uint32_t node : {0U, 1U, 2U}) (void)rank(node).read(first);
    int value = 0;
    for (int round = 0; round < 3; ++round) {
        for (const std::uint32_t node : {1U, 0U, 2U}) {
            enter(rank(node));
            EXPECT_EQ(rank(node).read(first), static_cast<std::byte>(value));
            EXPECT_EQ(rank(node).read(first + bytes - 1), static_cast<std::byte>(value));
            ++value;
            rank(node).write(first, value);
            rank(node).write(first + bytes - 1, value);
            rank(node).leave(record_);
        }
    }
}

TEST_F(LongRangesTest, renews_the_copies_that_changed_and_no_others) {
    for (pages::PageNumber page = 3; page < 14; ++page) (void)rank(2).read(page * page_bytes + 200);
    write(rank(1), first, 1);
    write(rank(1), first + 3 * page_bytes, 1);
    nodes_[0]->window.plain(5)[9] = std::byte{9};  // no release
    const std::uint64_t before = nodes_[2]->link.requests();
    enter(rank(2));
    EXPECT_EQ(nodes_[2]->link.requests(), before + 2);
    EXPECT_EQ(rank(2).read(5 * page_bytes + 9), std::byte{0});
    EXPECT_EQ(rank(2).read(first + 3 * page_bytes), std::byte{1});
    rank(2).leave(record_);
}

TEST_F(LongRangesTest, ranks_of_a_node_that_pass_the_lock_on_renew_nothing) {
    write(rank(1, 0), first + 50, 1);
    for (int round = 0; round < 5; ++round) {
        for (const pages::SlotNumber slot : {1U, 0U}) {
            enter(rank(1, slot));
            const std::uint64_t before = nodes_[1]->link.requests();
            rank(1, slot).leave(record_);
            EXPECT_EQ(nodes_[1]->link.requests(), before);
        }
    }
    const std::uint64_t release = record_.newest();
    enter(rank(1));
    rank(1).leave(record_);
    EXPECT_EQ(record_.newest(), release) << "nothing was written";
}

TEST_F(LongRangesTest, a_node_that_has_seen_no_release_for_long_renews_all_its_copies) {
    for (pages::PageNumber page = 3; page < 14; ++page) (void)rank(2).read(page * page_bytes + 200);
    for (int i = 0; i < 200; ++i)
        write(rank(1), first + static_cast<std::uint64_t>(i % 5) * 2 * page_bytes, i + 1);
    enter(rank(2));
    for (int i = 195; i < 200; ++i) {
        EXPECT_EQ(rank(2).read(first + static_cast<std::uint64_t>(i % 5) * 2 * page_bytes),
                  static_cast<std::byte>(i + 1));
    }
    rank(2).leave(record_);
}

TEST_F(LongRangesTest, writes_that_were_sent_before_the_release_are_renewed_too) {
    (void)rank(2).read(first + page_bytes);
    enter(rank(1));
    rank(1).write(first + page_bytes, 5);
    // A barrier of another rank, or an eviction.
    ASSERT_TRUE(rank(1).flush({0, pages_count}).is_ok());
    ASSERT_TRUE(rank(1, 1).fence({0, pages_count}).is_ok());
    rank(1).leave(record_);
    enter(rank(2));
    EXPECT_EQ(rank(2).read(first + page_bytes), std::byte{5});
    rank(2).leave(record_);
}

TEST_F(LongRangesTest, bytes_beside_the_range_stay_as_this_node_wrote_them) {
    rank(2).write(first - 1, 7);
    write(rank(1), first, 1);
    enter(rank(2));
    EXPECT_EQ(rank(2).read(first - 1), std::byte{7});
    EXPECT_EQ(rank(2).read(first), std::byte{1});
    rank(2).leave(record_);
    EXPECT_EQ(rank(0).read(first - 1), std::byte{7});
}

TEST_F(LongRangesTest, what_a_dead_holder_wrote_replaces_nothing_that_later_holders_wrote) {
    enter(rank(1));
    rank(1).write(first, 1);
    rank(1).write(first + page_bytes, 1);
    rank(1).write(first - 1, 3);  // a byte beside the range
    nodes_[1]->peers.dead[0] = true;
    enter(rank(2), true);
    EXPECT_EQ(rank(2).read(first), std::byte{0});
    rank(2).write(first, 2);
    rank(2).leave(record_);
    // A barrier of another rank of the node.
    nodes_[1]->state.add_written({3, 2});
    ASSERT_TRUE(rank(1, 1).flush({0, pages_count}).is_ok());
    EXPECT_EQ(rank(0).read(first), std::byte{2});
    EXPECT_EQ(rank(0).read(first - 1), std::byte{3});
    enter(rank(1, 1));
    EXPECT_EQ(rank(1, 1).read(first), std::byte{2});
    EXPECT_EQ(rank(1, 1).read(first + page_bytes), std::byte{0}) << "no other node has seen it";
    rank(1, 1).leave(record_);
}

TEST_F(LongRangesTest, the_journal_of_a_dead_holder_replaces_nothing_that_later_holders_wrote) {
    const auto none_is_dead = [](pages::SlotNumber) { return false; };
    enter(rank(1));
    rank(1).write(first, 1);
    FakeNode& node = *nodes_[1];
    EXPECT_EQ(node.state.claim(0, 0, none_is_dead), GroupClaim::claimed);
    node.state.begin_flush(3);
    const PageJournal journal = node.journals().of(0);
    std::memcpy(journal.copy(0).data(), node.window.plain(3).data(), page_bytes);
    journal.begin(0, JournalStep::sending, 3);
    node.peers.dead[0] = true;
    enter(rank(2), true);
    rank(2).write(first, 2);
    rank(2).leave(record_);
    enter(rank(1, 1));
    EXPECT_EQ(rank(1, 1).read(first), std::byte{2});
    rank(1, 1).write(first, 4);
    rank(1, 1).leave(record_);
    EXPECT_EQ(rank(0).read(first), std::byte{4});
}

TEST_F(LongRangesTest, nodes_agree_on_what_a_dead_holder_has_sent) {
    (void)rank(2).read(first + page_bytes);
    enter(rank(1));
    rank(1).write(first + page_bytes, 1);
    ASSERT_TRUE(rank(1, 1).flush({0, pages_count}).is_ok());
    ASSERT_TRUE(rank(1).flush({0, pages_count}).is_ok());
    nodes_[1]->peers.dead[0] = true;
    enter(rank(0), true);
    EXPECT_EQ(rank(0).read(first + page_bytes), std::byte{1});
    rank(0).leave(record_);
    enter(rank(2));
    EXPECT_EQ(rank(2).read(first + page_bytes), std::byte{1});
    rank(2).leave(record_);
}

// The rank died while it dropped a page.
TEST_F(LongRangesTest, a_fence_keeps_the_writes_of_a_page_that_a_dead_rank_was_dropping) {
    const auto none_is_dead = [](pages::SlotNumber) { return false; };
    FakeNode& node = *nodes_[1];
    rank(1).write(first - 1, 7);
    node.state.add_written({3, 1});
    ASSERT_TRUE(node.window.page_words().begin_drop(3, 0, none_is_dead).has_value());
    node.peers.dead[0] = true;
    ASSERT_TRUE(rank(1, 1).fence({0, pages_count}).is_ok());
    EXPECT_EQ(rank(0).read(first - 1), std::byte{7});
    EXPECT_FALSE(node.state.has_unsent(3));
}

TEST_F(LongRangesTest, a_lost_home_fails_the_release_and_the_next_holder) {
    enter(rank(1));
    rank(1).write(first, 1);
    nodes_[1]->link.lose(0);
    Rank& holder = rank(1);
    pages::ChangeLog before = record_;
    EXPECT_NE(before.newest(), 0U);
    EXPECT_EQ(holder.flush({3, 1}).code(), base::Code::peer);
    nodes_[2]->link.lose(0);
    EXPECT_EQ(rank(2).enter(record_, true).code(), base::Code::ok) << "it has no copy";
}

// Sections of all ranks in random order, with a model of the bytes.
class RandomSections {
public:
    explicit RandomSections(std::uint64_t seed) : random_(seed) {
        make_nodes(nodes_, 3, pages_count);
        for (const auto& node : nodes_)
            for (pages::SlotNumber slot = 0; slot < 2; ++slot)
                ranks_.push_back(std::make_unique<Rank>(*node, slot, first, bytes));
        record_ = ranks_[0]->empty_record();
        model_.resize(bytes);
    }

    void work(std::size_t rank) {
        for (int i = 0; i < 6; ++i) {
            if (random_.chance(40)) beside(*ranks_[rank]);
            while (is_held_) sched::sleep_while(&is_held_, true);
            is_held_ = true;
            section(*ranks_[rank]);
            is_held_ = false;
            sched::wake_all(&is_held_);
        }
    }

private:
    static constexpr std::uint64_t first = 18 * page_bytes + 1000;
    static constexpr std::uint64_t bytes = 4 * page_bytes;

    void section(Rank& rank) {
        EXPECT_TRUE(rank.enter(record_).is_ok());
        for (int i = 0; i < 8; ++i) {
            const std::uint64_t at = random_.below(bytes / 500) * 500;
            EXPECT_EQ(rank.read(first + at), model_[at]) << at;
            if (!random_.chance(40)) continue;
            const int value = static_cast<int>(random_.between(1, 255));
            rank.write(first + at, value);
            model_[at] = static_cast<std::byte>(value);
        }
        rank.leave(record_);
    }

    void beside(Rank& rank) {
        const PageRange pages{18 + random_.below(5), 1};
        EXPECT_TRUE((random_.chance(50) ? rank.flush(pages) : rank.fence(pages)).is_ok());
    }

    acp::test::Random random_;
    FakeNodes nodes_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    pages::ChangeLog record_;
    std::vector<std::byte> model_;
    bool is_held_ = false;
};

TEST(LongRangesSchedule, each_holder_sees_all_sections_before) {
    sched::for_each_seed(150, [](std::uint64_t seed) {
        RandomSections sections(seed);
        sched::Options options;
        options.seed = seed;
        const sched::Outcome outcome =
            sched::run(options, {[&] { sections.work(0); }, [&] { sections.work(1); },
                                 [&] { sections.work(2); }, [&] { sections.work(3); },
                                 [&] { sections.work(4); }, [&] { sections.work(5); }});
        EXPECT_EQ(outcome.failure, "");
    });
}

}  // namespace
}  // namespace acp::dsm::test
