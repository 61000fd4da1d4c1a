// SPDX-License-Identifier: BSD-3-Clause
// Hazard lines: the assignment to threads, the shared last line, the end of a thread or of the
// view, and that waiting for a name ignores dead processes. Threads and forked processes.
#include "local/hazards.hpp"

#include <atomic>
#include <barrier>
#include <csignal>
#include <functional>
#include <optional>
#include <pthread.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "os/life_lock.hpp"

#include "unit/local/test_node.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::local::test {
namespace {

constexpr std::uint32_t own_lines = memory::hazard_lines_per_slot - 1;  // the last one is shared
constexpr memory::GlobalAddress named = 0x1234'0000;
constexpr memory::GlobalAddress other = 0x5678'0000;

bool is_named(memory::GlobalAddress address) {
    return address == named;
}

void enter(memory::HazardLine& line, memory::GlobalAddress target, memory::GlobalAddress source) {
    memory::enter<memory::HazardFence::processor>(line, target, source);
}

class HazardsTest : public testing::Test {
protected:
    node::Segment node_ = make_node(2, 2);
};

TEST_F(HazardsTest, a_thread_keeps_its_line) {
    Hazards hazards(node_, 0);
    memory::HazardLine* line = hazards.own_line();
    ASSERT_NE(line, nullptr);
    EXPECT_EQ(hazards.own_line(), line);
    Hazards::Lease lease(hazards);
    EXPECT_EQ(&lease.line(), line);
}

TEST_F(HazardsTest, a_lease_inside_an_access_of_its_thread_takes_another_line_and_gives_it_back) {
    Hazards hazards(node_, 0);
    memory::HazardLine* line = hazards.own_line();
    ASSERT_NE(line, nullptr);
    enter(*line, other, other);
    EXPECT_EQ(hazards.free_line(), nullptr);
    {
        Hazards::Lease lease(hazards);
        EXPECT_NE(&lease.line(), line);
        EXPECT_NE(&lease.line(), &node_.hazards(0).back());
        enter(lease.line(), other + 8, other + 8);
        memory::leave(lease.line());
    }
    EXPECT_EQ(line->target.load(), other) << "the hazard word of an outer access stays";
    EXPECT_EQ(node_.hazards(0)[1].claims.load(), 0U);
    memory::leave(*line);
    EXPECT_EQ(hazards.free_line(), line);
}

TEST_F(HazardsTest, each_view_has_lines_of_its_own) {
    Hazards first(node_, 0);
    Hazards second(node_, 1);
    EXPECT_EQ(first.own_line(), &node_.hazards(0)[0]);
    EXPECT_EQ(second.own_line(), &node_.hazards(1)[0]);
}

TEST_F(HazardsTest, threads_beyond_the_lines_share_the_last_one_in_turn) {
    constexpr std::uint32_t threads = memory::hazard_lines_per_slot + 16;
    Hazards hazards(node_, 0);
    std::vector<memory::HazardLine*> lines(threads);
    std::barrier all_claimed(threads);
    std::uint64_t shared_uses = 0;  // guarded by the lease of the shared line
    std::vector<std::thread> crew;
    for (std::uint32_t i = 0; i < threads; ++i) {
        crew.emplace_back([&, i] {
            lines[i] = hazards.own_line();
            all_claimed.arrive_and_wait();  // all threads have their lines at the same time
            for (int use = 0; lines[i] == nullptr && use < 1000; ++use) {
                Hazards::Lease lease(hazards);
                enter(lease.line(), other, other);
                shared_uses += &lease.line() == &node_.hazards(0).back() ? 1U : 0U;
                memory::leave(lease.line());
            }
            all_claimed.arrive_and_wait();  // a returned line would be claimed by the next lease
        });
    }
    for (std::thread& thread : crew) {
        thread.join();
    }
    const std::set<memory::HazardLine*> distinct(lines.begin(), lines.end());
    EXPECT_EQ(distinct.size(), own_lines + 1U) << "each its own, and nullptr for the rest";
    EXPECT_FALSE(distinct.contains(&node_.hazards(0).back()));
    EXPECT_EQ(shared_uses, (threads - own_lines) * 1000U);
}

TEST_F(HazardsTest, a_thread_that_ends_gives_its_line_back) {
    Hazards hazards(node_, 0);
    for (std::uint32_t i = 0; i < 3 * memory::hazard_lines_per_slot; ++i) {
        std::thread([&] { EXPECT_EQ(hazards.own_line(), &node_.hazards(0)[0]); }).join();
    }
}

// A call of a thread after it has returned its line, in a pthread-key destructor.
struct LateCall {
    Hazards& hazards;
    memory::HazardLine* kept;  // the line that keep_own_line() has stored
    std::function<void(const LateCall&)> body;
    int rounds;
    pthread_key_t key;
};

constinit thread_local memory::HazardLine* t_kept = nullptr;

void run_late(void* given) {
    auto& call = *static_cast<LateCall*>(given);
    if (--call.rounds > 0) {
        // once more, after the destructors of the keys that were made later
        pthread_setspecific(call.key, given);
        return;
    }
    call.body(call);
}

// Runs the body in a thread that had a line, in the second round of its key destructors.
void run_in_an_ending_thread(Hazards& hazards, std::function<void(const LateCall&)> body) {
    LateCall call{hazards, nullptr, std::move(body), 2, 0};
    ASSERT_EQ(pthread_key_create(&call.key, run_late), 0);
    std::thread([&] {
        hazards.keep_own_line(t_kept);
        call.kept = t_kept;
        EXPECT_EQ(call.kept, hazards.own_line());
        pthread_setspecific(call.key, &call);
    }).join();
    pthread_key_delete(call.key);
}

TEST_F(HazardsTest, a_thread_that_ends_forgets_the_line_it_gave_back) {
    Hazards hazards(node_, 0);
    run_in_an_ending_thread(hazards, [&](const LateCall& call) {
        EXPECT_EQ(call.kept, &node_.hazards(0)[0]);
        EXPECT_EQ(t_kept, nullptr) << "it would write into a line that is another thread's now";
        EXPECT_EQ(hazards.own_line(), nullptr);
        EXPECT_EQ(node_.hazards(0)[0].claims.load(), 0U);
    });
}

TEST_F(HazardsTest, a_thread_that_ends_has_a_line_for_each_call_alone) {
    Hazards hazards(node_, 0);
    run_in_an_ending_thread(hazards, [&](const LateCall& call) {
        std::barrier step(2);
        std::thread newcomer([&] {
            EXPECT_EQ(hazards.own_line(), &node_.hazards(0)[0]) << "the line that was given back";
            step.arrive_and_wait();
            step.arrive_and_wait();
        });
        step.arrive_and_wait();
        for (int use = 0; use < 3; ++use) {
            Hazards::Lease lease(call.hazards);
            EXPECT_EQ(&lease.line(), &node_.hazards(0)[1]);
            EXPECT_EQ(lease.line().claims.load(), 1U);
        }
        EXPECT_EQ(node_.hazards(0)[1].claims.load(), 0U);
        step.arrive_and_wait();
        newcomer.join();
    });
}

TEST_F(HazardsTest, a_forked_child_gives_nothing_back) {
    Hazards hazards(node_, 0);
    std::thread([&] {
        memory::HazardLine* line = hazards.own_line();
        ASSERT_NE(line, nullptr);
        line->target.store(named);
        const pid_t child = fork();
        if (child == 0) {
            hazards.abandon();
            // Its only thread exits: the destructor that returns lines runs, then the one that ends
            // the child.
            static LateCall end{hazards, nullptr, [](const LateCall&) { _exit(0); }, 2, 0};
            if (pthread_key_create(&end.key, run_late) != 0) _exit(1);
            pthread_setspecific(end.key, &end);
            pthread_exit(nullptr);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(line->target.load(), named) << "the child has left its parent's line";
        EXPECT_EQ(line->claims.load(), 1U) << "the child has given its parent's line away";
        line->target.store(0);
    }).join();
}

TEST_F(HazardsTest, a_thread_may_outlive_the_view_it_had_a_line_of) {
    std::optional<Hazards> hazards(std::in_place, node_, 0);
    std::barrier step(2);
    std::thread thread([&] {
        EXPECT_NE(hazards->own_line(), nullptr);
        step.arrive_and_wait();
        step.arrive_and_wait();  // the view is gone
        Hazards next(node_, 0);
        EXPECT_EQ(next.own_line(), &node_.hazards(0)[0]) << "a view begins with all lines free";
    });
    step.arrive_and_wait();
    hazards.reset();
    step.arrive_and_wait();
    thread.join();
}

TEST_F(HazardsTest, waiting_for_an_unnamed_address_returns) {
    Hazards hazards(node_, 0);
    Hazards::Lease lease(hazards);
    enter(lease.line(), other, other + 1);
    hazards.wait_until_unnamed(is_named);
    memory::leave(lease.line());
    lease.line().source.store(named);  // meaningless without a target
    hazards.wait_until_unnamed(is_named);
}

// A thread names an address, and leaves some time after the owner has begun to wait. It sets
// has_left before it leaves.
void expect_waits_for(const node::Segment& node,
                      bool is_line_shared,
                      memory::GlobalAddress target,
                      memory::GlobalAddress source) {
    Hazards hazards(node, 0);
    std::barrier<> entered(2);
    std::atomic<bool> is_waiting{false};
    std::atomic<bool> has_left{false};
    std::thread reader([&] {
        if (is_line_shared) {
            for (memory::HazardLine& line : node.hazards(0).first(own_lines)) {
                line.claims.store(1);
            }
        }
        Hazards::Lease lease(hazards);
        EXPECT_EQ(&lease.line() == &node.hazards(0).back(), is_line_shared);
        enter(lease.line(), target, source);
        entered.arrive_and_wait();
        while (!is_waiting.load()) {
            std::this_thread::yield();
        }
        for (int i = 0; i < 100; ++i) {
            std::this_thread::yield();
        }
        has_left.store(true);
        memory::leave(lease.line());
    });
    entered.arrive_and_wait();
    is_waiting.store(true);
    hazards.wait_until_unnamed(is_named);
    EXPECT_TRUE(has_left.load());
    reader.join();
}

TEST_F(HazardsTest, one_process_without_membarrier_makes_all_of_its_node_pay_the_fence) {
    Hazards hazards(node_, 0);
    if (!hazards.has_membarrier()) GTEST_SKIP() << "the kernel or a tool refuses it here";
    node_.control().is_membarrier_refused.store(1);  // the process of slot 1 would store this value
    EXPECT_FALSE(hazards.has_membarrier());
}

TEST_F(HazardsTest, waits_for_a_thread_that_names_it_as_target) {
    for (int round = 0; round < 20; ++round) {
        expect_waits_for(node_, false, named, other);
    }
}

TEST_F(HazardsTest, waits_for_a_thread_that_names_it_as_source) {
    for (int round = 0; round < 20; ++round) {
        expect_waits_for(node_, false, other, named);
    }
}

TEST_F(HazardsTest, waits_for_a_thread_that_names_it_on_the_shared_line) {
    expect_waits_for(node_, true, named, other);
}

// The owner closes a word, and waits for each reader that found it open.
TEST_F(HazardsTest, a_reader_either_sees_the_entry_closed_or_is_seen) {
    Hazards hazards(node_, 0);
    std::atomic<bool> is_open{false};
    std::atomic<bool> is_over{false};
    std::uint64_t memory = 0;  // plain data: hazard lines must prevent a race on it
    std::atomic<std::uint64_t> reads{0};
    const auto read = [&] {
        Hazards::Lease lease(hazards);
        while (!is_over.load(std::memory_order_relaxed)) {
            enter(lease.line(), named, named);
            if (is_open.load(std::memory_order_acquire)) {
                EXPECT_EQ(*static_cast<volatile std::uint64_t*>(&memory) % 2, 0U);
                reads.fetch_add(1, std::memory_order_relaxed);
            }
            memory::leave(lease.line());
            std::this_thread::yield();  // lets the owner find the line empty
        }
    };
    std::thread first(read);
    std::thread second(read);
    for (int round = 0; round < 100; ++round) {
        const std::uint64_t before = reads.load(std::memory_order_relaxed);
        is_open.store(true, std::memory_order_release);
        while (reads.load(std::memory_order_relaxed) == before) {
            std::this_thread::yield();
        }
        is_open.store(false, std::memory_order_seq_cst);
        hazards.wait_until_unnamed(is_named);
        ++memory;  // odd: no reader may see it
        ++memory;
    }
    is_over.store(true);
    first.join();
    second.join();
}

// The words of a process of slot 1 that names the address, sets is_inside, and stays until it may
// leave.
struct Stage {
    std::atomic<bool> is_inside;
    std::atomic<bool> may_leave;
    std::atomic<bool> has_left;
};

Child make_reader(const node::Segment& node, Stage& stage) {
    return Child([&node, &stage] {
        Hazards hazards(node, 1);
        // Takes the life lock, like a process that has joined.
        const auto life = os::LifeLock::take(node.file(), 1);
        node.slot(1).has_life_lock.store(life.is_ok() ? 1 : 0);
        Hazards::Lease lease(hazards);
        enter(lease.line(), named, other);
        stage.is_inside.store(true);
        while (!stage.may_leave.load()) {
            std::this_thread::yield();
        }
        stage.has_left.store(true);
        memory::leave(lease.line());
        return 0;
    });
}

void wait_until_inside(const Stage& stage) {
    while (!stage.is_inside.load()) {
        std::this_thread::yield();
    }
}

TEST_F(HazardsTest, a_killed_reader_is_skipped) {
    auto& stage = *reinterpret_cast<Stage*>(node_.starter(0));
    Child reader = make_reader(node_, stage);
    wait_until_inside(stage);
    const Hazards hazards(node_, 0);
    reader.send(SIGKILL);
    hazards.wait_until_unnamed(is_named);  // detects the death itself: there is no watcher
    EXPECT_EQ(node_.slot(1).state.load(), static_cast<std::uint32_t>(node::SlotState::dead));
}

TEST_F(HazardsTest, a_stopped_reader_is_waited_for) {
    auto& stage = *reinterpret_cast<Stage*>(node_.starter(0));
    Child reader = make_reader(node_, stage);
    wait_until_inside(stage);
    reader.send(SIGSTOP);
    Hazards hazards(node_, 0);
    std::thread owner([&] {
        hazards.wait_until_unnamed(is_named);
        EXPECT_TRUE(stage.has_left.load());
    });
    stage.may_leave.store(true);
    for (int i = 0; i < 1000; ++i) {
        std::this_thread::yield();  // the owner may give up too early here
    }
    reader.send(SIGCONT);
    owner.join();
    EXPECT_EQ(reader.join(), 0);
}

// namespace acp::local::test
}  // namespace
}  // namespace acp::local::test
