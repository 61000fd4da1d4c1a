// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks take a lock. Each holder checks that it is alone, and that the words
// which the lock guards are as the holder before left them.
#include <algorithm>
#include <atomic>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "lock/kill_board.hpp"
#include "support/random.hpp"
#include "support/victim_rank.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t entries_after_kill = 60;
constexpr std::uint64_t entries_counted = 400;
constexpr std::int64_t hurry_ns = 30'000;
constexpr unsigned char pattern = 0x3c;
constexpr std::size_t bound_words = ACP_BIND_BYTES_MAX / sizeof(std::uint64_t);

class Worker : VictimRank<LockNote> {
public:
    explicit Worker(KillBoard& board)
        : VictimRank(board.ranks[acp_rank()]),
          board_(board),
          rank_(acp_rank()),
          random_(board.seed + static_cast<std::uint64_t>(rank_)) {}

    int run() {
        note_.process.store(getpid(), std::memory_order_relaxed);
        make_lock();
        switch (board_.task) {
            case LockTask::contend_for_bytes:
                bind_bytes();
                [[fallthrough]];
            case LockTask::contend:
                contend();
                break;
            case LockTask::count:
                count();
                break;
            case LockTask::hold:
                hold();
                break;
            case LockTask::calls:
                calls();
                break;
            case LockTask::full_heaps:
                wait_with_full_heap();
                break;
            case LockTask::resets:
                reset_between();
                break;
        }
        enter(LockPhase::done);
        await_others();
        if (rank_ == first_survivor()) end_lock();
        (void)acp_finalize();
        return exit_status();
    }

private:
    void make_lock() {
        if (rank_ == 0) board_.lock.store(acp_create_lock(board_.home).ga);
        must(acp_sync() == 0, "acp_sync");
        lock_ = {board_.lock.load()};
        must(lock_.ga != ACP_GA_NULL, "acp_create_lock");
    }

    void enter(LockPhase phase) { note_.phase.store(phase, std::memory_order_release); }

    [[nodiscard]] bool is_struck() const {
        return board_.is_struck.load(std::memory_order_acquire) != 0;
    }

    [[nodiscard]] bool is_gone(int rank) const {
        return (board_.task == LockTask::contend || board_.task == LockTask::contend_for_bytes) &&
               rank == board_.victim;
    }

    [[nodiscard]] int first_survivor() const { return is_gone(0) ? 1 : 0; }

    void await_others() {
        for (int rank = 0; rank < kill_ranks; ++rank) {
            while (!is_gone(rank) &&
                   board_.ranks[rank].phase.load(std::memory_order_acquire) != LockPhase::done) {
                usleep(200);  // lint: a pause between looks
            }
        }
    }

    // The bytes cross pages.
    void bind_bytes() {
        must(acp_init_dsm(std::size_t{4} * 4096) == 0, "acp_init_dsm");
        auto* const pages = static_cast<std::uint64_t*>(acp_alloc_dsm(std::size_t{2} * 4096));
        must(pages != nullptr, "acp_alloc_dsm");
        if (!is_all_right()) return;
        bytes_ = pages + 4096 / sizeof *pages - 9;
        must(acp_bind_dsm(lock_, bytes_, bound_words * sizeof *bytes_) == 0, "acp_bind_dsm");
    }

    // The words are those that the last holder released; one that died may have lost its own ones.
    void use_bytes(bool has_died) {
        if (bytes_ == nullptr) return;
        const std::uint64_t count = bytes_[0];
        const std::uint64_t written = board_.bound.load(std::memory_order_relaxed);
        must(count == written || (has_died && count + 1 == written),
             "the bytes of section " + std::to_string(count) + ", not " + std::to_string(written) +
                 ", died " + std::to_string(has_died ? 1 : 0));
        for (std::size_t i = 1; i < bound_words; ++i)
            must(bytes_[i] == count, "a word of another section");
        for (std::size_t i = 0; i < bound_words; ++i) bytes_[i] = count + 1;
        board_.bound.store(count + 1, std::memory_order_relaxed);
    }

    // Takes the lock by one of the three calls.
    int take() {
        const auto way = random_.below(4);
        int result = ACP_NONE;
        while (result == ACP_NONE) {
            result = way == 0   ? acp_try_lock(lock_)
                     : way == 1 ? acp_lock_timeout(lock_, hurry_ns)
                                : acp_lock(lock_);
            if (result == ACP_NONE) sched_yield();
        }
        must(result >= 0, "taking the lock");
        return result;
    }

    void be_inside(bool has_died) {
        const std::int32_t before = board_.inside.exchange(rank_ + 1, std::memory_order_relaxed);
        const bool was_victim = has_died && before == board_.victim + 1;
        must(before == 0 || was_victim, "rank " + std::to_string(before - 1) + " is inside, died " +
                                            std::to_string(has_died ? 1 : 0));
        const std::uint64_t value = board_.first.load(std::memory_order_relaxed);
        must(has_died || board_.second.load(std::memory_order_relaxed) == value,
             "the words of the holder before differ");
        board_.first.store(value + 1, std::memory_order_relaxed);
        if (random_.chance(10)) sched_yield();
        use_bytes(has_died);
        board_.second.store(value + 1, std::memory_order_relaxed);
        board_.inside.store(0, std::memory_order_relaxed);
        note_.entries.fetch_add(1, std::memory_order_relaxed);
        if (has_died) note_.deaths_told.fetch_add(1, std::memory_order_relaxed);
    }

    void enter_once() {
        const int taken = take();
        if (taken < 0) return;
        be_inside(taken == 1);
        must(acp_unlock(lock_) == 0, "acp_unlock");
    }

    void contend() {
        enter(LockPhase::working);
        while (!is_struck() && is_all_right()) enter_once();
        for (std::uint64_t i = 0; i < entries_after_kill && is_all_right(); ++i) enter_once();
    }

    void count() {
        enter(LockPhase::working);
        for (std::uint64_t i = 0; i < entries_counted && is_all_right(); ++i) enter_once();
    }

    void hold() {
        if (rank_ == board_.victim) {
            must(acp_lock(lock_) == 0, "acp_lock");
            enter(LockPhase::holding);
            while (board_.is_over.load(std::memory_order_acquire) == 0)
                usleep(200);  // lint: a pause between looks
            must(acp_unlock(lock_) == 0, "acp_unlock");
            return;
        }
        while (board_.ranks[board_.victim].phase.load(std::memory_order_acquire) <
               LockPhase::holding) {
            usleep(200);  // lint: a pause between looks
        }
        must(acp_try_lock(lock_) == ACP_NONE, "acp_try_lock of a held lock");
        must(acp_lock_timeout(lock_, hurry_ns) == ACP_NONE, "acp_lock_timeout of a held lock");
        enter(LockPhase::working);
        enter_once_by_waiting();
    }

    void enter_once_by_waiting() {
        const int taken = acp_lock(lock_);
        must(taken == 0, "acp_lock");
        be_inside(false);
        must(acp_unlock(lock_) == 0, "acp_unlock");
    }

    // Takes all memory of the own heap.
    std::vector<acp_ga_t> fill_heap() {
        std::vector<acp_ga_t> blocks;
        for (std::size_t bytes = std::size_t{1} << 30; bytes >= 64;) {
            const acp_ga_t block = acp_malloc(bytes, rank_);
            if (block == ACP_GA_NULL) {
                bytes /= 2;
            } else {
                blocks.push_back(block);
            }
        }
        acp_clear_errno();
        return blocks;
    }

    // A waiter of another node needs memory of its heap: without it the wait is refused, and leaves no
    // place in the queue; a free lock is taken.
    void wait_with_full_heap() {
        if (rank_ == board_.home) must(acp_lock(lock_) == 0, "acp_lock by the home");
        must(acp_sync() == 0, "acp_sync");
        if (rank_ != board_.home) {
            const bool is_near = acp_query_address(acp_query_starter_ga(board_.home)) != nullptr;
            const std::vector<acp_ga_t> blocks = fill_heap();
            must(acp_try_lock(lock_) == ACP_NONE, "acp_try_lock of a held lock");
            if (is_near) {
                must(acp_lock_timeout(lock_, hurry_ns) == ACP_NONE, "acp_lock_timeout on the node");
            } else {
                fails_with(acp_lock(lock_), ACP_ERR_MEMORY, "acp_lock with a full heap");
                fails_with(acp_lock_timeout(lock_, hurry_ns), ACP_ERR_MEMORY,
                           "acp_lock_timeout with a full heap");
            }
            must(acp_sync() == 0, "acp_sync");  // the home releases the lock
            must(acp_sync() == 0, "acp_sync");
            for (int round = 0; round < 20; ++round) {
                const int taken = acp_try_lock(lock_);
                if (taken == 0) must(acp_unlock(lock_) == 0, "acp_unlock with a full heap");
                must(taken == 0 || taken == ACP_NONE, "acp_try_lock with a full heap");
            }
            for (const acp_ga_t block : blocks) must(acp_free(block) == 0, "acp_free");
        } else {
            must(acp_sync() == 0, "acp_sync");
            // Fails if the lock has a waiter.
            must(acp_unlock(lock_) == 0 && acp_try_lock(lock_) == 0, "the lock had a waiter");
            must(acp_unlock(lock_) == 0, "acp_unlock by the home");
            must(acp_sync() == 0, "acp_sync");
        }
        must(acp_sync() == 0, "acp_sync");
        count();
    }

    // Waiters give up while they are granted the lock. No notification of a wait before acp_reset
    // changes memory or grants a wait after it.
    void reset_between() {
        constexpr std::size_t block_bytes = 64;
        constexpr std::size_t block_count = 64;
        for (int round = 0; round < 10 && is_all_right(); ++round) {
            std::vector<unsigned char*> blocks;
            for (std::size_t i = 0; i < block_count; ++i) {
                const acp_ga_t block = acp_malloc(block_bytes, rank_);
                blocks.push_back(static_cast<unsigned char*>(acp_query_address(block)));
                std::fill_n(blocks.back(), block_bytes, pattern);
            }
            must(acp_sync() == 0, "acp_sync");
            for (int entry = 0; entry < 40; ++entry) {
                const int taken =
                    acp_lock_timeout(lock_, static_cast<std::int64_t>(random_.below(2 * hurry_ns)));
                must(taken == 0 || taken == ACP_NONE, "acp_lock_timeout");
                if (taken == 0) be_inside(false);
                if (taken == 0) must(acp_unlock(lock_) == 0, "acp_unlock");
            }
            for (const unsigned char* block : blocks) {
                must(std::count(block, block + block_bytes, pattern) == block_bytes,
                     "a block has changed");
            }
            must(acp_reset(rank_) == 0, "acp_reset");
            make_lock();
        }
    }

    void fails_with(int result, int code, const std::string& what) {
        must(result == -1 && acp_errno() == code,
             what + " gave " + std::to_string(result) + ", " + std::to_string(acp_errno()));
        acp_clear_errno();
    }

    void calls() {
        enter(LockPhase::working);
        if (rank_ != 0) return;
        fails_with(acp_unlock(lock_), ACP_ERR_STATE, "acp_unlock of a free lock");
        must(acp_try_lock(lock_) == 0, "acp_try_lock");
        fails_with(acp_lock(lock_), ACP_ERR_STATE, "acp_lock of an own lock");
        fails_with(acp_free_lock(lock_), ACP_ERR_STATE, "acp_free_lock of a held lock");
        const int freed = acp_free(lock_.ga);
        must(std::string(acp_error_message()).find("a lock") != std::string::npos,
             "the message of acp_free");
        fails_with(freed, ACP_ERR_ADDRESS, "acp_free of a lock");
        int of_thread = 0;
        std::thread([&] { of_thread = acp_unlock(lock_); }).join();
        must(of_thread == -1, "acp_unlock by another thread");
        acp_clear_errno();
        ended_thread();
        std::atomic<bool> is_late{false};
        std::thread waiter([&] {
            must(acp_lock_timeout(lock_, hurry_ns) == ACP_NONE, "the time is over");
            is_late.store(true);
            must(acp_lock(lock_) == 0, "acp_lock by a thread that waits");
            must(acp_unlock(lock_) == 0, "its acp_unlock");
        });
        while (!is_late.load()) sched_yield();
        must(acp_unlock(lock_) == 0, "acp_unlock");
        waiter.join();
        must(acp_create_lock(kill_ranks).ga == ACP_GA_NULL && acp_errno() == ACP_ERR_ARGUMENT,
             "acp_create_lock on no rank");
        const acp_lock_t other = acp_create_lock(board_.home);
        must(acp_lock(other) == 0 && acp_unlock(other) == 0, "another lock");
        must(acp_free_lock(other) == 0, "acp_free_lock");
        fails_with(acp_lock(other), ACP_ERR_STALE, "acp_lock of a freed lock");
        fails_with(acp_free_lock(other), ACP_ERR_STALE, "acp_free_lock of a freed lock");
        fails_with(acp_try_lock({ACP_GA_NULL}), ACP_ERR_ADDRESS, "acp_try_lock of no lock");
        fails_with(acp_try_lock({lock_.ga + 64}), ACP_ERR_STALE, "acp_try_lock inside a lock");
        fails_with(acp_unlock({acp_query_starter_ga(board_.home)}), ACP_ERR_ADDRESS,
                   "acp_unlock of starter memory");
    }

    // A thread that ends keeps its lock, and no later thread passes for it.
    void ended_thread() {
        const acp_lock_t other = acp_create_lock(board_.home);
        std::thread([&] { must(acp_lock(other) == 0, "acp_lock by a thread that ends"); }).join();
        for (int i = 0; i < 3; ++i) {
            std::thread([&] {
                must(acp_try_lock(other) == ACP_NONE, "acp_try_lock of an ended thread's lock");
                fails_with(acp_unlock(other), ACP_ERR_STATE,
                           "acp_unlock of an ended thread's lock");
            }).join();
        }
    }

    // The lock of a dead holder comes free here at the latest.
    void end_lock() {
        const int taken = acp_lock(lock_);
        must(taken >= 0, "the last acp_lock");
        must(acp_unlock(lock_) == 0, "the last acp_unlock");
        // No barrier unbinds the bytes after a death.
        must(bytes_ != nullptr || acp_free_lock(lock_) == 0, "acp_free_lock");
        must(acp_heap_check(board_.home) == 0, "acp_heap_check");
    }

    KillBoard& board_;
    acp_lock_t lock_{ACP_GA_NULL};
    std::uint64_t* bytes_ = nullptr;  // bound to the lock
    int rank_;
    Random random_;
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::KillBoard, acp::test::Worker>(argc, argv, "a lock");
}
