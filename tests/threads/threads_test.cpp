// SPDX-License-Identifier: BSD-3-Clause
// Many threads of one rank in the library at once: more than it has lines of its own for, coming
// and going, completing each other's commands, registering and unregistering.
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

using ThreadsTest = RankedTest;

Kind farthest_kind() {
    return mode().reaches_private_memory() ? Kind::registered : Kind::starter;
}

// Runs a body on several threads at once and waits for them all.
template <typename Body>
void on_threads(std::size_t count, Body&& body) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t thread = 0; thread < count; ++thread) {
        threads.emplace_back([&body, thread] { body(thread); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// Each thread copies its own words to the next rank's memory and back and looks at them.
void copy_there_and_back(const Arena& there, const Arena& own, std::size_t thread, int rounds) {
    const int rank = acp_rank();
    const int next = (rank + 1) % acp_procs();
    const std::size_t out = 16 * thread;
    for (int round = 1; round <= rounds; ++round) {
        auto& sent = own.word<std::uint64_t>(out);
        auto& received = own.word<std::uint64_t>(out + 8);
        sent = static_cast<std::uint64_t>(round) * 1000 + thread;
        const acp_handle_t put =
            acp_copy(there.at(next, 8 * thread), own.at(rank, out), 8, ACP_HANDLE_NULL);
        const acp_handle_t get =
            acp_copy(own.at(rank, out + 8), there.at(next, 8 * thread), 8, put);
        acp_complete(get);
        EXPECT_EQ(received, sent) << "thread " << thread << " round " << round;
    }
}

TEST_F(ThreadsTest, serves_more_threads_than_it_has_lines_for) {
    constexpr std::size_t threads = 150;
    const int rounds = mode().is_slow() ? 5 : 200;
    const Arena there(farthest_kind(), 8 * threads);
    const Arena own(Kind::starter, 16 * threads, 8 * threads + 64);
    std::barrier all_started(static_cast<std::ptrdiff_t>(threads));
    on_threads(threads, [&](std::size_t thread) {
        all_started.arrive_and_wait();
        copy_there_and_back(there, own, thread, rounds);
    });
    sync_ranks();
}

// Each thread puts from its own memory to its own place on the next rank, gets it back, and adds to
// one word of that rank.
void put_and_get(const Arena& there, std::size_t thread, std::size_t size, int rounds) {
    const int next = (acp_rank() + 1) % acp_procs();
    const acp_ga_t place = there.at(next, 64 + thread * size);
    std::vector<std::byte> sent(size);
    std::vector<std::byte> seen(size);
    for (int round = 0; round < rounds; ++round) {
        fill_pattern(sent, static_cast<std::uint64_t>(round) * 100 + thread, acp_rank());
        const acp_handle_t put = acp_put_signal(place, sent.data(), size, there.at(next), 1, 0);
        acp_complete(acp_get(seen.data(), place, size, put));
        EXPECT_EQ(seen, sent) << "thread " << thread << " round " << round;
    }
}

TEST_F(ThreadsTest, put_and_get_from_memory_of_their_own) {
    constexpr std::size_t threads = 12;
    const int rounds = mode().is_slow() ? 30 : 300;
    for (const std::size_t size : {std::size_t{40}, std::size_t{3000}, std::size_t{9000}}) {
        const Arena there(farthest_kind(), 64 + threads * size);
        on_threads(threads, [&](std::size_t thread) { put_and_get(there, thread, size, rounds); });
        acp_complete(ACP_HANDLE_ALL);
        sync_ranks();
        EXPECT_EQ(there.word<std::uint64_t>(), threads * static_cast<std::uint64_t>(rounds));
    }
}

TEST_F(ThreadsTest, serves_threads_that_come_and_go) {
    constexpr std::size_t width = 8;
    const int generations = mode().is_slow() ? 30 : 300;
    const Arena there(farthest_kind(), 8 * width);
    const Arena own(Kind::starter, 16 * width, 1024);
    for (int generation = 0; generation < generations; ++generation) {
        on_threads(width, [&](std::size_t thread) { copy_there_and_back(there, own, thread, 2); });
    }
    sync_ranks();
}

TEST_F(ThreadsTest, runs_what_a_thread_issued_before_it_ended) {
    constexpr std::size_t threads = 20;
    const Arena counter(farthest_kind(), 64);
    const Arena own(Kind::starter, 8 * threads, 64);
    counter.word<std::uint64_t>() = 0;
    sync_ranks();
    on_threads(threads, [&](std::size_t thread) {
        acp_add8(own.at(rank_, 8 * thread), counter.at(0), 1, ACP_HANDLE_NULL);
    });
    expect_done(ACP_HANDLE_ALL);
    sync_ranks();
    if (rank_ == 0) {
        EXPECT_EQ(counter.word<std::uint64_t>(), threads * static_cast<std::size_t>(procs_));
    }
    sync_ranks();
}

TEST_F(ThreadsTest, completes_commands_of_all_threads_from_one) {
    constexpr std::size_t threads = 8;
    constexpr std::size_t commands = 50;
    const Arena there(farthest_kind(), 8 * threads * commands);
    const Arena own(Kind::starter, 64 + 8 * threads * commands, 16 * 1024);
    const int next = (rank_ + 1) % procs_;
    for (std::size_t index = 0; index < threads * commands; ++index) {
        own.word<std::uint64_t>(64 + 8 * index) = 7'000'000 + index;
        there.word<std::uint64_t>(8 * index) = 0;
    }
    sync_ranks();
    on_threads(threads, [&](std::size_t thread) {
        for (std::size_t index = thread * commands; index < (thread + 1) * commands; ++index) {
            acp_copy(there.at(next, 8 * index), own.at(rank_, 64 + 8 * index), 8, ACP_HANDLE_NULL);
        }
    });
    acp_complete(ACP_HANDLE_ALL);
    sync_ranks();
    for (std::size_t index = 0; index < threads * commands; ++index) {
        ASSERT_EQ(there.word<std::uint64_t>(8 * index), 7'000'000 + index);
    }
    sync_ranks();
}

TEST_F(ThreadsTest, waits_in_many_threads_for_the_same_handles) {
    constexpr std::size_t threads = 8;
    const int rounds = mode().is_slow() ? 20 : 300;
    const Arena there(farthest_kind(), 64);
    const Arena own(Kind::starter, 64, 64);
    there.word<std::uint64_t>() = 0;
    sync_ranks();
    std::atomic<acp_handle_t> handle{ACP_HANDLE_NULL};
    std::barrier step(static_cast<std::ptrdiff_t>(threads));
    const int next = (rank_ + 1) % procs_;
    on_threads(threads, [&](std::size_t thread) {
        for (int round = 0; round < rounds; ++round) {
            if (thread == 0) {
                handle.store(acp_add8(own.at(rank_), there.at(next), 1, ACP_HANDLE_NULL),
                             std::memory_order_release);  // pairs with the loads after the barrier
            }
            step.arrive_and_wait();
            const acp_handle_t mine = handle.load(std::memory_order_acquire);
            if (thread % 2 == 0) {
                acp_complete(mine);
            } else {
                EXPECT_EQ(acp_wait(mine, -1), ACP_OK);
            }
            EXPECT_EQ(acp_inquire(mine), 0);
            step.arrive_and_wait();
        }
    });
    sync_ranks();
    EXPECT_EQ(there.word<std::uint64_t>(), static_cast<std::uint64_t>(rounds));
    sync_ranks();
}

TEST_F(ThreadsTest, orders_a_command_of_one_thread_after_that_of_another) {
    const int rounds = mode().is_slow() ? 20 : 300;
    constexpr std::size_t bytes = 64 * 1024;
    const Arena there(farthest_kind(), bytes);
    const Arena own(Kind::starter, bytes + 64, 64);
    const int next = (rank_ + 1) % procs_;
    std::atomic<acp_handle_t> handle{ACP_HANDLE_NULL};
    std::barrier step(2);
    on_threads(2, [&](std::size_t thread) {
        for (int round = 1; round <= rounds; ++round) {
            auto& last = own.word<std::uint64_t>(bytes - 8);
            if (thread == 0) {
                last = static_cast<std::uint64_t>(round);
                handle.store(acp_copy(there.at(next), own.at(rank_), bytes, ACP_HANDLE_NULL),
                             std::memory_order_release);  // pairs with the load after the barrier
            }
            step.arrive_and_wait();
            if (thread == 1) {
                acp_complete(acp_copy(own.at(rank_, bytes), there.at(next, bytes - 8), 8,
                                      handle.load(std::memory_order_acquire)));
                EXPECT_EQ(own.word<std::uint64_t>(bytes), static_cast<std::uint64_t>(round));
            }
            step.arrive_and_wait();
        }
    });
    sync_ranks();
}

TEST_F(ThreadsTest, registers_and_unregisters_in_many_threads) {
    constexpr std::size_t threads = 6;
    const int rounds = mode().is_slow() ? 100 : 1000;
    const Arena own(Kind::starter, 64 * threads);
    on_threads(threads, [&](std::size_t thread) {
        std::vector<std::uint64_t> memory(32);
        for (int round = 0; round < rounds; ++round) {
            const acp_atkey_t key = acp_register_memory(memory.data(), 256, 0);
            ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
            own.word<std::uint64_t>(64 * thread) = static_cast<std::uint64_t>(round);
            acp_complete(acp_copy(acp_query_ga(key, &memory[31]), own.at(rank_, 64 * thread), 8,
                                  ACP_HANDLE_NULL));
            EXPECT_EQ(memory[31], static_cast<std::uint64_t>(round));
            EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
        }
    });
    sync_ranks();
}

TEST_F(ThreadsTest, keeps_every_threads_last_error_apart) {
    on_threads(8, [&](std::size_t thread) {
        EXPECT_EQ(acp_errno(), ACP_OK);
        EXPECT_STREQ(acp_error_message(), "");
        for (int round = 0; round < 200; ++round) {
            const int wrong = 1'000'000 + static_cast<int>(thread);
            EXPECT_EQ(acp_query_starter_ga(wrong), ACP_GA_NULL);
            EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
            EXPECT_NE(std::string(acp_error_message()).find(std::to_string(wrong)),
                      std::string::npos)
                << acp_error_message();
        }
    });
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
