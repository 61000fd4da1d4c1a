// SPDX-License-Identifier: BSD-3-Clause
// A process is killed or stopped before each access while it makes a container of any kind and uses
// it for the first time: after recovery the container is either gone with all of its blocks, or in
// use; also if others use it first at the same time.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

#include "heap/loans.hpp"

#include "list/lists.hpp"
#include "sequence/sequence.hpp"
#include "support/kill_scene.hpp"
#include "support/scoped_watchdog.hpp"
#include "table/table.hpp"
#include "unit/table/table_memory.hpp"

namespace acp::allocator {
namespace {

using table::BlockNumber;
using table::participants_max;
using table::SharedHeap;
using test::SteppedAtomic;
using test::StruckChild;
using SteppedLoans = heap::Loans<SteppedAtomic>;

constexpr std::uint32_t loans_max = 4;
constexpr std::uint32_t process_of_victim = 7;
constexpr std::uint64_t id = 77;

// Blocks of a heap with loans.
template <typename Base>
class LendingBlocks : public Base {
public:
    LendingBlocks(const SharedHeap& shared, std::uint32_t number, SteppedLoans& loans)
        : Base(shared.blocks.data(), shared.heap.limit_bytes()),
          shared_(shared),
          cache_(number),
          loans_(loans) {}

    BlockNumber allocate(SteppedAtomic<std::uint64_t>& place,
                         std::uint64_t bytes,
                         std::uint64_t alignment) override {
        const heap::Offset block = shared_.heap.allocate(cache_, bytes, alignment);
        std::memset(this->base() + block, table::poison, bytes);
        place.store(table::made::of(table::number_of(block)), std::memory_order_release);
        shared_.heap.keep(cache_);
        return table::number_of(block);
    }

    void free(BlockNumber block) override {
        test::step();
        EXPECT_EQ(shared_.heap.free(cache_, table::offset_of(block)), heap::Freed::done);
    }

    [[nodiscard]] std::uint64_t usable_bytes(BlockNumber block) override {
        return shared_.heap.usable_bytes(table::offset_of(block));
    }

    [[nodiscard]] bool is_kept(BlockNumber block) override {
        return shared_.heap.is_kept(table::offset_of(block));
    }

    void clear(BlockNumber block, std::uint64_t bytes) override {
        std::memset(this->base() + table::offset_of(block), 0, bytes);
    }

    [[nodiscard]] bool lend(BlockNumber container, std::uint64_t maker) override {
        return loans_.lend(table::offset_of(container), static_cast<std::uint32_t>(maker),
                           heap::Lent::container);
    }

    [[nodiscard]] bool end_by_use(BlockNumber container, std::uint32_t maker) override {
        return loans_.end_by_use(table::offset_of(container), maker);
    }

    [[nodiscard]] bool is_lent(BlockNumber block) override {
        return loans_.has(table::offset_of(block));
    }

    [[nodiscard]] heap::ThreadCache& cache() { return cache_; }

private:
    const SharedHeap& shared_;
    heap::ThreadCache cache_;
    SteppedLoans& loans_;
};

struct TableKind {
    using Participants = table::Participants<SteppedAtomic>;

    TableKind(const SharedHeap& shared,
              char* participants,
              std::uint32_t number,
              SteppedLoans& loans)
        : blocks(shared, number, loans), way(blocks, {participants, participants_max}, number, 1) {}

    BlockNumber make() { return way.make({2, true, false, id, process_of_victim}); }

    bool use(BlockNumber container) { return way.is_table(container, id); }

    bool destroy(BlockNumber container) { return way.destroy(container, id); }

    bool recover(std::uint32_t dead) {
        return way.recover(dead, [](std::uint32_t number) { return number != test::survivor; });
    }

    void reclaim() { way.reclaim(); }

    LendingBlocks<table::Blocks<SteppedAtomic>> blocks;
    table::HashTable<SteppedAtomic> way;
};

struct DirectoryKind : TableKind {
    using TableKind::TableKind;

    BlockNumber make() {
        return way.make_directory(200, process_of_victim, [](BlockNumber, char*) {});
    }

    bool use(BlockNumber container) { return way.is_directory(container); }

    bool destroy(BlockNumber container) { return way.destroy_directory(container); }
};

class ListBlocks final : public LendingBlocks<list::ListMemory<SteppedAtomic>> {
public:
    using LendingBlocks::LendingBlocks;

    bool free_apart(std::uint64_t /*address*/) override { return false; }

    [[nodiscard]] SteppedAtomic<std::uint64_t>* apart_word(std::uint64_t /*address*/) override {
        return nullptr;
    }

    [[nodiscard]] bool is_apart_kept(std::uint64_t /*address*/) override { return false; }
};

struct ListKind {
    using Participants = list::ListParticipants<SteppedAtomic>;

    ListKind(const SharedHeap& shared,
             char* participants,
             std::uint32_t number,
             SteppedLoans& loans)
        : blocks(shared, number, loans), way(blocks, {participants, participants_max}, number, 1) {}

    BlockNumber make() { return way.make(process_of_victim); }

    bool use(BlockNumber container) { return way.is_list(container); }

    bool destroy(BlockNumber container) {
        return way.destroy(container, ~std::uint64_t{0}, [](std::uint64_t) {}) ==
               list::ListEffect::done;
    }

    bool recover(std::uint32_t dead) {
        return way.recover(dead, [](std::uint32_t number) { return number != test::survivor; });
    }

    void reclaim() { way.reclaim(); }

    ListBlocks blocks;
    list::SharedLists<SteppedAtomic> way;
};

class Others final : public sequence::Others {
public:
    [[nodiscard]] bool is_dead(std::uint32_t participant) override {
        return participant != test::survivor;
    }

    [[nodiscard]] bool may_wait(std::uint64_t turns, std::uint64_t /*capacity*/) override {
        return turns < 3;
    }
};

struct SequenceKind {
    using Participants = sequence::SequenceUsers<SteppedAtomic>;
    static constexpr auto kind = sequence::SequenceKind::deque;

    SequenceKind(const SharedHeap& shared,
                 char* participants,
                 std::uint32_t number,
                 SteppedLoans& loans)
        : blocks(shared, number, loans),
          way(blocks, others, {participants, participants_max}, number) {}

    BlockNumber make() { return way.make(kind, 10, 30, process_of_victim); }

    bool use(BlockNumber container) { return way.is_one(container, kind); }

    bool destroy(BlockNumber container) { return way.destroy(container, kind); }

    bool recover(std::uint32_t dead) { return way.recover(dead); }

    void reclaim() {}

    LendingBlocks<table::Blocks<SteppedAtomic>> blocks;
    Others others;
    sequence::Sequence<SteppedAtomic> way;
};

template <typename Kind>
struct Scene : test::KillScene<Scene<Kind>, SharedHeap> {
    using Base = test::KillScene<Scene<Kind>, SharedHeap>;

    Scene() : Base(Kind::Participants::bytes(participants_max)) {}

    [[nodiscard]] Kind user(std::uint32_t number) {
        return {this->shared, this->participants.data(), number, loans};
    }

    void act() {
        Kind by = user(test::victim);
        const BlockNumber container = by.make();
        made->store(container, std::memory_order_release);
        by.way.keep();
        EXPECT_TRUE(by.use(container));
    }

    [[nodiscard]] bool is_shown(std::uint32_t dead, heap::Offset block) const {
        const typename Kind::Participants all{this->participants.data(), participants_max};
        return all[dead].has_made(table::number_of(block));
    }

    // Recovers as NodeHeap::recover() and UnusedContainers do.
    bool recover_structure(Kind& by, std::uint32_t dead) {
        const std::uint32_t number = &by == &own ? test::survivor : test::helper;
        const auto end = [&](heap::Offset block, const auto& take_off, heap::Lent, std::uint32_t) {
            const BlockNumber container = table::number_of(block);
            if (is_shown(test::victim, block) || !by.blocks.is_kept(container) ||
                !by.way.destroy_unused(container, process_of_victim, take_off)) {
                take_off();
            }
        };
        return loans.end_all(
                   number, Base::is_dead, [](std::uint32_t) { return true; }, end) &&
               by.recover(dead);
    }

    void expect_nothing_lost(const std::string& when) {
        const BlockNumber container = made->load();
        if (container != 0 && own.use(container)) {
            EXPECT_TRUE(own.destroy(container)) << when;
        }
        own.reclaim();
        EXPECT_EQ(this->shared.blocks_in_use(), 0U) << when;
        EXPECT_TRUE(std::all_of(words.data(), words.data() + SteppedLoans::bytes(loans_max),
                                [](char byte) { return byte == 0; }))
            << when << ": a loan is left";
    }

    heap::SharedPages words{SteppedLoans::bytes(loans_max)};
    SteppedLoans loans{words.data(), loans_max};
    heap::SharedPages making{sizeof(std::uint64_t)};
    std::atomic<std::uint64_t>* made = reinterpret_cast<std::atomic<std::uint64_t>*>(making.data());
    Kind own = user(test::survivor);
};

template <typename Kind>
class FirstUse : public testing::Test {};

using Kinds = testing::Types<TableKind, DirectoryKind, ListKind, SequenceKind>;
TYPED_TEST_SUITE(FirstUse, Kinds);

TYPED_TEST(FirstUse, whose_maker_is_killed_before_any_access_leaks_no_block) {
    const test::ScopedWatchdog watchdog("kills of makers");
    const auto check = [](Scene<TypeParam>& scene, const StruckChild& child) {
        scene.recover_victim();
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<Scene<TypeParam>>({SIGKILL}, check);
}

TYPED_TEST(FirstUse, whose_maker_and_its_recovery_are_killed_leaks_no_block) {
    const test::ScopedWatchdog watchdog("kills of makers and recoveries");
    const auto check = [](Scene<TypeParam>& scene, const std::string& when) {
        scene.expect_nothing_lost(when);
    };
    test::kill_recoveries<Scene<TypeParam>>({SIGKILL}, {SIGKILL}, check);
}

TYPED_TEST(FirstUse, by_another_one_goes_well_wherever_the_maker_is_stopped) {
    const test::ScopedWatchdog watchdog("stops of makers");
    const auto check = [](Scene<TypeParam>& scene, StruckChild& child) {
        const BlockNumber container = scene.made->load();
        if (container != 0) {
            EXPECT_TRUE(scene.own.use(container)) << child.when();
            EXPECT_TRUE(scene.own.use(container)) << child.when();
        }
        child.go_on();
        scene.recover_victim();
        EXPECT_TRUE(scene.own.use(scene.made->load())) << child.when();
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<Scene<TypeParam>>({SIGSTOP}, check);
}

}  // namespace
}  // namespace acp::allocator
