// SPDX-License-Identifier: BSD-3-Clause
// The number of entries of a table whose counters are wrong after a kill: a walk counts them, and
// stores the number if no user has changed the table at the same time; from then on it stays right
// under insertions and erasures.
#include <deque>
#include <set>
#include <vector>

#include "support/effort.hpp"
#include "support/interleave.hpp"
#include "support/random.hpp"
#include "table_memory.hpp"

namespace acp::table {
namespace {

namespace sched = test::sched;

constexpr std::uint32_t users = 3;

std::string key_number(std::uint64_t number) {
    return "key " + std::to_string(number);
}

template <template <class> class Atomic>
struct Stage {
    Stage() {
        for (std::uint32_t i = 0; i < users; ++i) all.emplace_back(shared, pages.data(), i, 1);
        table = all[0].table.make({2, true});
        all[0].table.keep();
    }

    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    ~Stage() {
        EXPECT_TRUE(all[0].table.destroy(table, 0));
        for (auto& user : all) user.table.reclaim();
        EXPECT_EQ(shared.blocks_in_use(), 0U);
    }

    [[nodiscard]] Head<Atomic>& head() {
        return *reinterpret_cast<Head<Atomic>*>(shared.blocks.data() + offset_of(table));
    }

    // Does what Recovery does for a participant that was killed before it had counted.
    void make_wrong(std::uint64_t by) {
        head().counted[0].entries.fetch_add(by, std::memory_order_relaxed);
        head().correction.store(
            correction::made_unknown(head().correction.load(std::memory_order_relaxed)),
            std::memory_order_relaxed);
    }

    [[nodiscard]] bool is_unknown() {
        return (head().correction.load(std::memory_order_relaxed) & correction::unknown) != 0;
    }

    [[nodiscard]] std::uint64_t walked() {
        std::uint64_t there = 0;
        WalkPlace after;
        const auto visit = [&there](const VisitedEntry& /*entry*/) {
            ++there;
            return Visited::go_on;
        };
        while (all[0].table.walk(table, after, visit) == Walked::more) {
        }
        return there;
    }

    void insert(std::uint32_t user, std::uint64_t key) {
        (void)all[user].table.insert(table, key_of(key_number(key)), value_of("value"));
    }

    void erase(std::uint32_t user, std::uint64_t key) {
        (void)all[user].table.erase(table, key_of(key_number(key)));
    }

    SharedHeap shared;
    SharedPages pages{Participants<Atomic>::bytes(participants_max)};
    std::deque<User<Atomic>> all;
    BlockNumber table = 0;
};

TEST(EntryCountTest, a_wrong_number_is_found_by_a_walk_and_right_from_then_on) {
    Stage<std::atomic> stage;
    for (std::uint64_t i = 0; i < 100; ++i) stage.insert(0, i);
    EXPECT_EQ(stage.all[0].table.entries(stage.table), 100U);
    for (const std::uint64_t wrong : {std::uint64_t{1}, ~std::uint64_t{0}, ~std::uint64_t{200}}) {
        stage.make_wrong(wrong);
        EXPECT_EQ(stage.all[1].table.entries(stage.table), 100U);
        EXPECT_FALSE(stage.is_unknown());
        EXPECT_EQ(stage.all[0].table.entries(stage.table), 100U) << "without a walk";
        stage.insert(2, 500);
        EXPECT_EQ(stage.all[0].table.entries(stage.table), 101U);
        stage.erase(1, 500);
        EXPECT_EQ(stage.all[0].table.entries(stage.table), 100U);
    }
    for (std::uint64_t i = 0; i < 100; ++i) stage.erase(1, i);
    EXPECT_EQ(stage.all[0].table.entries(stage.table), 0U);
}

// Counters in one cache line would make each insertion wait for the line of another process.
TEST(EntryCountTest,
     neither_threads_of_a_process_nor_first_threads_of_processes_count_in_one_line) {
    Head<std::atomic> head{};
    std::set<const void*> of_threads;
    std::set<const void*> of_processes;
    for (std::uint32_t i = 0; i < Head<std::atomic>::counters; ++i) {
        of_threads.insert(&head.counter_of(heap::caches_of(1).first + i));
        of_processes.insert(&head.counter_of(heap::caches_of(i).first));
    }
    EXPECT_EQ(of_threads.size(), Head<std::atomic>::counters);
    EXPECT_EQ(of_processes.size(), Head<std::atomic>::counters);
}

TEST(EntryCountTest, one_that_is_in_a_change_keeps_the_number_unknown_and_others_count_it) {
    Stage<std::atomic> stage;
    for (std::uint64_t i = 0; i < 10; ++i) stage.insert(0, i);
    stage.make_wrong(1);
    auto& named = reinterpret_cast<Participant<std::atomic>*>(stage.pages.data())[2]
                      .hazard[Participant<std::atomic>::from_array];
    named.store(77, std::memory_order_relaxed);
    EXPECT_EQ(stage.all[0].table.entries(stage.table), 10U);
    EXPECT_TRUE(stage.is_unknown());
    named.store(0, std::memory_order_relaxed);
    EXPECT_EQ(stage.all[0].table.entries(stage.table), 10U);
    EXPECT_FALSE(stage.is_unknown());
}

TEST(EntryCountTest, the_number_is_right_after_any_change_while_it_was_counted) {
    std::uint64_t known = 0;
    sched::for_each_seed(3'000, [&known](std::uint64_t seed) {
        Stage<sched::Atomic> stage;
        for (std::uint64_t i = 0; i < 4; ++i) stage.insert(0, i);
        stage.make_wrong(1);
        std::vector<std::function<void()>> fibers{[&] {
            (void)stage.all[0].table.entries(stage.table);
            (void)stage.all[0].table.entries(stage.table);
        }};
        for (std::uint32_t user = 1; user < users; ++user) {
            fibers.emplace_back([&stage, user, seed] {
                test::Random random(seed * users + user);
                const std::uint64_t key = 10 * user;
                for (int i = 0; i < 2; ++i) {
                    if (random.below(2) == 0) sched::pause();
                    stage.insert(user, key + random.below(2));
                    stage.erase(user,
                                random.below(3) == 0 ? random.below(4) : key + random.below(2));
                }
            });
        }
        const sched::Outcome outcome = sched::run({.seed = seed}, fibers);
        EXPECT_EQ(outcome.failure, "");
        if (!stage.is_unknown()) ++known;
        const std::uint64_t there = stage.walked();
        EXPECT_EQ(stage.all[0].table.entries(stage.table), there) << "seed " << seed;
        EXPECT_FALSE(stage.is_unknown());
        EXPECT_EQ(stage.all[0].table.entries(stage.table), there) << "seed " << seed << ", again";
    });
    // Under sanitizers the test runs few seeds.
    if (!test::is_sanitized) {
        EXPECT_GT(known, 0U) << "no operation stores the number of entries while others run";
    }
}

// The counting user is stopped while another one inserts an entry and erases one, so that its
// counter has the same value as before.
TEST(EntryCountTest, changes_that_cancel_each_other_in_the_midst_of_a_walk_are_noticed) {
    for (std::uint64_t inserted = 10; inserted < 14; ++inserted) {
        for (std::uint64_t erased = 0; erased < 4; ++erased) {
            sched::for_each_death(0, 1, [&](const sched::Options& options) {
                Stage<sched::Atomic> stage;
                for (std::uint64_t i = 0; i < 4; ++i) stage.insert(0, i);
                stage.make_wrong(1);
                const auto count = [&] { (void)stage.all[0].table.entries(stage.table); };
                const auto change = [&] {
                    stage.insert(1, inserted);
                    stage.erase(1, erased);
                };
                const sched::Outcome outcome = sched::run(options, {count, change});
                EXPECT_EQ(outcome.failure, "");
                EXPECT_EQ(stage.walked(), 4U);
                EXPECT_EQ(stage.all[1].table.entries(stage.table), 4U)
                    << "stopped before access " << options.victim_operation;
                return outcome.is_victim_hit;
            });
        }
    }
}

}  // namespace
}  // namespace acp::table
