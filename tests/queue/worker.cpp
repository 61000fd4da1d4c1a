// SPDX-License-Identifier: BSD-3-Clause
// A rank that pushes its tasks into a queue and takes tasks out, one or several at a time, until
// none is left; taking a task counts it. The survivors of a kill continue, and at the end rank 0
// destroys the queue.
#include <algorithm>
#include <array>
#include <cstdio>
#include <sched.h>
#include <unistd.h>

#include <acp.h>

#include "queue/queue_board.hpp"
#include "support/board.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::queue_test {
namespace {

struct Task {
    std::uint32_t rank;
    std::uint32_t number;
};

class Worker {
public:
    explicit Worker(QueueBoard& board) : board_(board) {}

    int run() {
        if (acp_init(nullptr, nullptr) != 0) return complain("acp_init");
        rank_ = acp_rank();
        procs_ = acp_procs();
        if (rank_ == 0) board_.queue.store(acp_create_deque(0, 0).ga, std::memory_order_release);
        if (acp_sync() != 0) return complain("acp_sync");
        queue_ = {board_.queue.load(std::memory_order_acquire)};
        note().process.store(getpid(), std::memory_order_release);
        while (note().pushed.load(std::memory_order_relaxed) < tasks_each) {
            push(1 + static_cast<std::uint32_t>(random_.below(3)));
            (void)take(1 + random_.below(3));
        }
        while (take(8) || !all_have_pushed()) {
        }
        while (take(8)) {
        }
        note().is_leaving.store(1, std::memory_order_release);
        if (rank_ == 0) end_queue();
        (void)acp_finalize();
        return 0;
    }

private:
    WorkerNote& note() { return board_.ranks[rank_]; }

    int complain(const char* what) {
        note().wrong.fetch_add(1, std::memory_order_relaxed);
        std::fprintf(stderr, "rank %d: %s: %s\n", rank_, what, acp_error_message());
        return 2;
    }

    [[nodiscard]] bool is_gone(int rank) const {
        return board_.is_killed != 0 && rank == board_.victim &&
               board_.is_struck.load(std::memory_order_acquire) != 0;
    }

    void push(std::uint32_t count) {
        std::array<Task, 3> tasks{};
        const std::uint32_t first = note().pushed.load(std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < count && first + i < tasks_each; ++i) {
            tasks[i] = {static_cast<std::uint32_t>(rank_), first + i};
        }
        count = std::min(count, tasks_each - first);
        if (acp_push_back_deque(queue_, tasks.data(), count * sizeof(Task)) != 0) {
            (void)complain("acp_push_back_deque");
        }
        note().pushed.store(first + count, std::memory_order_release);
    }

    // Takes up to `count` tasks. Returns whether there was one.
    bool take(std::uint64_t count) {
        std::array<Task, 8> tasks{};
        const std::int64_t bytes = acp_take_front_deque(queue_, tasks.data(), count * sizeof(Task));
        if (bytes < 0 || bytes % static_cast<std::int64_t>(sizeof(Task)) != 0) {
            (void)complain("acp_take_front_deque");
            return false;
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / sizeof(Task); ++i) {
            const Task& task = tasks[i];
            if (task.rank >= ranks_max || task.number >= tasks_each) {
                (void)complain("no such task");
                continue;
            }
            board_.ranks[task.rank].done[task.number].fetch_add(1, std::memory_order_relaxed);
        }
        return bytes > 0;
    }

    [[nodiscard]] bool all_have_pushed() const {
        for (int rank = 0; rank < procs_; ++rank) {
            if (!is_gone(rank) &&
                board_.ranks[rank].pushed.load(std::memory_order_acquire) < tasks_each)
                return false;
        }
        return true;
    }

    void end_queue() {
        for (int rank = 0; rank < procs_; ++rank) {
            while (!is_gone(rank) &&
                   board_.ranks[rank].is_leaving.load(std::memory_order_acquire) == 0) {
                sched_yield();
            }
        }
        if (acp_destroy_deque(queue_) != 0) (void)complain("acp_destroy_deque");
        acp_heap_stat_t stat{};
        if (acp_heap_stat(0, &stat) != 0) (void)complain("acp_heap_stat");
        if (acp_heap_check(0) != 0) (void)complain("acp_heap_check");
        note().blocks_left.store(stat.blocks, std::memory_order_release);
    }

    QueueBoard& board_;
    acp_deque_t queue_{};
    int rank_ = 0;
    int procs_ = 0;
    test::Random random_{test::fresh_seed()};
};

}  // namespace
}  // namespace acp::queue_test

int main() {
    acp::test::arm_watchdog(120, "a rank that shares a queue");
    const auto board = acp::test::Board<acp::queue_test::QueueBoard>::open();
    return acp::queue_test::Worker(*board).run();
}
