// SPDX-License-Identifier: BSD-3-Clause
// The leases of calls that move entries between two containers: both or none, in one order for all
// movers, released at the end of the call, and inherited from a mover that died.
#include "lock/move_leases.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/death.hpp"

#include "support/rank_node.hpp"
#include "support/scoped_watchdog.hpp"
#include "unit/lock/lock_scene.hpp"

namespace acp::lock::test {
namespace {

using base::Code;
using data::ContainerKind;
using data::ContainerName;

constexpr std::uint32_t ranks = 3;

class MoveLeasesTest : public testing::Test {
protected:
    MoveLeasesTest() {
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
            locks_.push_back(std::make_unique<Locks>(*node_[rank].gma, *node_[rank].allocator));
        make_both(ContainerKind::multimap);
    }

    void make_both(ContainerKind kind) {
        data::HashedOptions options;
        options.kind = kind;
        options.processes = {0, 1};
        first_ = node_[0].hashed->create(options).value();
        options.directory_process = 1;
        second_ = node_[0].hashed->create(options).value();
    }

    GlobalAddress lock_of(const ContainerName& name) {
        return locks_[0]->of_container(name.directory, name.id).value();
    }

    LockWords words(const ContainerName& name) { return {node_[0].gma->space(), lock_of(name)}; }

    // A mover of a rank: a thread with its leases.
    struct Mover {
        Mover(Locks& locks, data::Hashed& hashed) : leases(std::in_place, locks, hashed) {}

        void begin(const ContainerName& into, const ContainerName& from) {
            thread.begin([this, into, from] { status = leases->take(into, from, nullptr); });
        }

        base::Status& take(const ContainerName& into, const ContainerName& from) {
            begin(into, from);
            thread.end();
            return status;
        }

        void release() {
            thread.run([this] { leases.reset(); });
        }

        std::optional<MoveLeases> leases;
        base::Status status;
        CallingThread thread;  // ends first
    };

    std::unique_ptr<Mover> mover(std::uint32_t rank) {
        return std::make_unique<Mover>(*locks_[rank], *node_[rank].hashed);
    }

    acp::test::ScopedWatchdog watchdog_{"unit_lock: a mover waits for ever"};
    acp::test::RankNode node_{ranks};
    std::vector<std::unique_ptr<Locks>> locks_;
    ContainerName first_;
    ContainerName second_;
};

TEST_F(MoveLeasesTest, a_mover_holds_both_leases_until_its_call_ends) {
    auto one = mover(0);
    EXPECT_TRUE(one->take(first_, second_).is_ok());
    EXPECT_EQ(words(first_).holder(), 0U);
    EXPECT_EQ(words(second_).holder(), 0U);
    one->release();
    EXPECT_FALSE(words(first_).state().is_held());
    EXPECT_FALSE(words(second_).state().is_held());
}

// Else two movers in opposite directions hold one lease each.
TEST_F(MoveLeasesTest, movers_of_both_directions_wait_for_the_same_lease_first) {
    for (const bool is_forward : {true, false}) {
        const ContainerName& into = is_forward ? first_ : second_;
        const ContainerName& from = is_forward ? second_ : first_;
        auto one = mover(0);
        auto other = mover(1);
        EXPECT_TRUE(one->take(into, from).is_ok());
        other->begin(from, into);
        const bool is_first_low = lock_of(first_) < lock_of(second_);
        words(is_first_low ? first_ : second_).await_waiter(1);
        EXPECT_EQ(words(is_first_low ? second_ : first_).waiters(), 0U);
        one->release();
        other->thread.end();
        EXPECT_TRUE(other->status.is_ok());
        other->release();
    }
}

TEST_F(MoveLeasesTest, a_container_has_one_lock_and_frees_it_at_its_end) {
    EXPECT_EQ(lock_of(first_), lock_of(first_));
    EXPECT_NE(lock_of(first_), lock_of(second_));
    const GlobalAddress gone = lock_of(first_);
    ASSERT_TRUE(node_[1].hashed->destroy(first_).is_ok());
    EXPECT_EQ(locks_[0]->of_container(first_.directory, first_.id).failure().code(), Code::stale);
    EXPECT_EQ(locks_[0]->take(gone, no_time, nullptr).failure().code(), Code::stale);
    ASSERT_TRUE(node_[1].hashed->destroy(second_).is_ok());
    node_.check_heaps();
}

TEST_F(MoveLeasesTest, a_destroyed_container_is_refused_and_no_lease_is_kept) {
    ASSERT_TRUE(node_[0].hashed->destroy(second_).is_ok());
    auto one = mover(1);
    EXPECT_EQ(one->take(first_, second_).code(), Code::stale);
    EXPECT_EQ(one->take(second_, first_).code(), Code::stale);
    EXPECT_FALSE(words(first_).state().is_held());
}

TEST_F(MoveLeasesTest, a_container_that_is_destroyed_while_it_is_moved_ends_the_wait_for_it) {
    auto one = mover(0);
    auto other = mover(1);
    EXPECT_TRUE(one->take(first_, second_).is_ok());
    other->begin(second_, first_);
    const bool is_first_low = lock_of(first_) < lock_of(second_);
    const ContainerName& awaited = is_first_low ? first_ : second_;
    const ContainerName& kept = is_first_low ? second_ : first_;
    words(awaited).await_waiter(1);
    ASSERT_TRUE(node_[0].hashed->destroy(awaited).is_ok());
    node::wake_everybody(node_.segment());
    other->thread.end();
    EXPECT_EQ(other->status.code(), Code::stale);
    one->release();
    EXPECT_FALSE(words(kept).state().is_held());
    node_.check_heaps();
}

TEST_F(MoveLeasesTest, an_entry_that_a_dead_mover_may_have_doubled_is_reported_once) {
    for (const auto kind : {ContainerKind::multimap, ContainerKind::multiset, ContainerKind::map,
                            ContainerKind::set}) {
        make_both(kind);
        // The dead mover holds the locks of both: the test takes them under the number of a rank
        // that it kills in the last round.
        auto dead = mover(2);
        EXPECT_TRUE(dead->take(first_, second_).is_ok());
        node_.die(2);
        auto next = mover(0);
        const base::Status& status = next->take(first_, second_);
        const bool is_harmless = kind == ContainerKind::map || kind == ContainerKind::set;
        EXPECT_EQ(status.code(), is_harmless ? Code::ok : Code::peer) << data::name_of(kind);
        if (!is_harmless) {
            EXPECT_NE(
                status.message().find(std::string("moved entries of this ") + data::name_of(kind)),
                std::string::npos)
                << status.message();
        }
        next->release();
        EXPECT_TRUE(mover(1)->take(second_, first_).is_ok());
    }
}

}  // namespace
}  // namespace acp::lock::test
