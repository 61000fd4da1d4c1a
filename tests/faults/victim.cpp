// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks fault tests kill, stop, or let end by an error. It works as the board
// says, notes on the board how its first failed call ended, and ends with 0 if no failure was a
// wrong one.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "faults/fault_board.hpp"
#include "support/board.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::size_t memory_bytes = 64 * 1024;
// Longer than all messages in flight to a rank.
constexpr std::size_t long_memory_bytes = 4 * 1024 * 1024;
constexpr int bad_memory_code = 9;
// Work::giving_up: the block of rank 0, what late copies bring, and what it has afterwards.
constexpr std::size_t block_bytes = memory_bytes / 2;
constexpr std::byte late_byte{0x5a};
constexpr std::byte new_byte{0x3c};

// The layout of Work::exact: words and bytes in starter memory, and a row per rank in registered
// memory.
constexpr std::size_t exact_word = 0;
constexpr std::size_t exact_old = 8;
constexpr std::size_t exact_source = 1024;
constexpr std::size_t exact_target = 17 * 1024;
constexpr std::size_t exact_row = 16 * 1024;
constexpr int exact_rows = memory_bytes / exact_row;

class Victim {
public:
    Victim(FaultBoard& board, int rank_hint) : board_(board), rank_(rank_hint) {}

    int run() {
        // Published by enter().
        note().parent.store(getppid(), std::memory_order_relaxed);
        note().process.store(getpid(), std::memory_order_relaxed);
        enter(Phase::started);
        if (acp_init(nullptr, nullptr) != 0) {
            fail("acp_init");
            return 0;
        }
        enter(Phase::joined);
        memory_.resize(is_putting() ? long_memory_bytes : memory_bytes);
        key_ = acp_register_memory(memory_.data(), memory_.size(), acp_rank() % acp_colors());
        note().memory.store(acp_query_ga(key_, memory_.data()), std::memory_order_release);
        if (board_.work == Work::giving_up && rank_ == 0) {
            block_ = acp_malloc(block_bytes, 0);
            note().memory.store(block_, std::memory_order_release);
        }
        if (acp_sync() != 0) {
            fail("acp_sync");
        } else {
            enter(Phase::working);
            work();
        }
        if (note().phase.load(std::memory_order_relaxed) != Phase::failed) {
            enter(Phase::finished);
        }
        await_other_survivors();
        acp_finalize();
        return has_bad_memory_ ? bad_memory_code : 0;
    }

private:
    RankNote& note() { return board_.ranks[rank_]; }

    void enter(Phase phase) {
        note().phase.store(phase, std::memory_order_release);  // pairs with the driver's load
    }

    // Notes the first failure. Returns false, for `return fail(...)` in a loop's condition.
    bool fail(const char* where) {
        note().failed_at_ns.store(now_ns(), std::memory_order_relaxed);
        note().code.store(acp_errno(), std::memory_order_relaxed);
        std::snprintf(note().where, sizeof note().where, "%s", where);
        std::snprintf(note().message, sizeof note().message, "%s", acp_error_message());
        enter(Phase::failed);
        return false;
    }

    // A rank that leaves ends its memory, and that would be a second failure for ranks that still
    // work.
    void await_other_survivors() {
        for (int rank = 0; rank < acp_procs() && board_.work != Work::revocation; ++rank) {
            while (rank != board_.victim &&
                   board_.ranks[rank].phase.load(std::memory_order_acquire) < Phase::failed) {
                usleep(1000);  // lint: a pause between looks
            }
        }
    }

    [[nodiscard]] bool is_victim() const { return rank_ == board_.victim; }

    [[nodiscard]] bool is_putting() const {
        return board_.work == Work::source_wait || board_.work == Work::copied_put;
    }

    [[nodiscard]] acp_ga_t memory_of(int rank) {
        return board_.ranks[rank].memory.load(std::memory_order_acquire);
    }

    void work() {
        switch (board_.work) {
            case Work::barrier_wait:
                wait_in_barrier();
                break;
            case Work::command_wait:
            case Work::command_complete:
                wait_for_command();
                break;
            case Work::source_wait:
            case Work::copied_put:
                wait_for_source();
                break;
            case Work::errands:
                run_errands();
                break;
            case Work::exact:
                work_exactly();
                break;
            case Work::revocation:
                rank_ == 0 ? revoke() : copy_into_rank_0();
                break;
            case Work::giving_up:
                rank_ >= board_.victim ? copy_until_given_up() : give_up();
                break;
            default:
                work_in_rounds();
        }
    }

    // Rounds until a common last one, which rank 0 announces before the barrier that opens it.
    void work_in_rounds() {
        Random random(board_.seed + static_cast<std::uint64_t>(rank_));
        for (std::uint64_t round = 1;; ++round) {
            if (rank_ == 0 && board_.may_end.load(std::memory_order_acquire) != 0) {
                board_.last_round.store(round, std::memory_order_release);
            }
            if (acp_sync() != 0) {
                fail("acp_sync");
                return;
            }
            note().steps.fetch_add(1, std::memory_order_relaxed);
            if (board_.last_round.load(std::memory_order_acquire) == round) {
                return;
            }
            if (board_.work == Work::early_end && is_victim() && round == 3) {
                end_badly();
            }
            if (board_.work != Work::barriers && !do_traffic(random)) {
                return;
            }
        }
    }

    bool do_traffic(Random& random) {
        const std::uint64_t commands = random.between(1, 20);
        for (std::uint64_t count = 0; count < commands; ++count) {
            const int other =
                static_cast<int>(random.below(static_cast<std::uint64_t>(acp_procs())));
            const acp_ga_t own = acp_query_starter_ga(rank_) + 1024;
            const std::size_t size = 1 + random.below(random.chance(80) ? 64 : 20'000);
            const acp_ga_t place =
                random.chance(50) ? memory_of(other) + 8 : acp_query_starter_ga(other) + 30'000;
            const acp_handle_t order = random.chance(30) ? ACP_HANDLE_ALL : ACP_HANDLE_NULL;
            if (random.chance(30)) {
                acp_add8(own - 8, memory_of(other), 1, order);
            } else if (random.chance(50)) {
                acp_copy(place, own, size, order);
            } else {
                acp_copy(own, place, size, order);
            }
        }
        if (random.chance(50)) {
            acp_complete(ACP_HANDLE_ALL);  // ACP_ON_ERROR=return
            return acp_errno() == ACP_OK || fail("acp_complete");
        }
        return acp_wait(ACP_HANDLE_ALL, -1) == ACP_OK || fail("acp_wait");
    }

    // Copies and atomics to the memories of all ranks, by paths that need no thread of the owner. A
    // step visits all ranks.
    void run_errands() {
        const acp_ga_t own = acp_query_starter_ga(rank_) + 1024;
        const std::size_t place = 2048 + 64 * static_cast<std::size_t>(rank_);
        while (board_.may_end.load(std::memory_order_acquire) == 0) {
            for (int other = 0; other < acp_procs(); ++other) {
                const acp_ga_t starter = acp_query_starter_ga(other) + place;
                acp_copy(memory_of(other) + place, own, 64, ACP_HANDLE_NULL);
                acp_copy(starter, own, 8, ACP_HANDLE_NULL);
                acp_add8(own + 64, starter, 1, ACP_HANDLE_NULL);
            }
            if (acp_wait(ACP_HANDLE_ALL, -1) != ACP_OK) {
                fail("acp_wait");
                return;
            }
            note().steps.fetch_add(1, std::memory_order_relaxed);
        }
    }

    // Puts bytes to each rank and gets them back, and adds to a word there: the bytes that return
    // are those sent, old values grow, and at the end each word is the sum of all additions. A step
    // visits all ranks.
    void work_exactly() {
        const std::size_t sizes[] = {8, 1024, 15'000};
        auto* own = static_cast<std::byte*>(acp_query_address(acp_query_starter_ga(rank_)));
        std::vector<std::uint64_t> seen(static_cast<std::size_t>(acp_procs()));
        for (std::uint64_t step = 1; board_.may_end.load(std::memory_order_acquire) == 0; ++step) {
            const std::size_t bytes = sizes[step % std::size(sizes)];
            for (std::size_t at = 0; at < bytes; ++at) {
                own[exact_source + at] = static_cast<std::byte>(step * 31 + at * 7 + at / 256);
            }
            for (int other = 0; other < acp_procs(); ++other) {
                if (!visit_exactly(other, bytes, seen[static_cast<std::size_t>(other)])) {
                    return;
                }
                has_bad_memory_ |= std::memcmp(own + exact_source, own + exact_target, bytes) != 0;
            }
            note().steps.fetch_add(1, std::memory_order_relaxed);
        }
        if (acp_sync() != 0) {
            fail("acp_sync");
            return;
        }
        std::uint64_t all = 0;
        for (int rank = 0; rank < acp_procs(); ++rank) {
            all += board_.ranks[rank].steps.load(std::memory_order_relaxed);
        }
        has_bad_memory_ |= *reinterpret_cast<std::uint64_t*>(own + exact_word) != all;
    }

    bool visit_exactly(int other, std::size_t bytes, std::uint64_t& seen) {
        const acp_ga_t own = acp_query_starter_ga(rank_);
        const acp_ga_t there =
            memory_of(other) + exact_row * static_cast<std::size_t>(rank_ % exact_rows);
        acp_copy(there, own + exact_source, bytes, ACP_HANDLE_NULL);
        acp_add8(own + exact_old, acp_query_starter_ga(other) + exact_word, 1, ACP_HANDLE_NULL);
        acp_copy(own + exact_target, there, bytes, ACP_HANDLE_ALL);
        if (acp_wait(ACP_HANDLE_ALL, -1) != ACP_OK) {
            return fail("acp_wait");
        }
        const auto* old = static_cast<const std::uint64_t*>(acp_query_address(own + exact_old));
        has_bad_memory_ |= *old < seen;
        seen = *old + 1;
        return true;
    }

    void wait_in_barrier() {
        if (is_victim()) {
            pause_for_ever();
        }
        if (acp_sync() != 0) {
            fail("acp_sync");
        }
    }

    void wait_for_command() {
        if (is_victim()) {
            // Stops its service thread too.
            raise(SIGSTOP);
            pause_for_ever();
        }
        const acp_ga_t own = acp_query_starter_ga(rank_) + 1024;
        // Commands that were issued before the victim stopped are run; the next one waits.
        while (note().phase.load(std::memory_order_relaxed) == Phase::working) {
            const acp_handle_t handle = acp_add8(own, memory_of(board_.victim), 1, ACP_HANDLE_NULL);
            if (board_.work == Work::command_complete) {
                acp_complete(handle);
                if (acp_errno() != ACP_OK) {
                    fail("acp_complete");
                }
            } else if (acp_wait(handle, -1) != ACP_OK) {
                fail("acp_wait");
            }
            note().steps.fetch_add(1, std::memory_order_relaxed);
        }
    }

    // After the call the source belongs to this process again, also when the victim has died in the
    // transfer: the program unmaps it before it waits for the put.
    void wait_for_source() {
        if (is_victim()) {
            raise(SIGSTOP);
            pause_for_ever();
        }
        while (note().phase.load(std::memory_order_relaxed) == Phase::working) {
            void* const source = mmap(nullptr, long_memory_bytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            acp_handle_t handle = ACP_HANDLE_NULL;
            int waited = 0;
            if (board_.work == Work::copied_put) {
                handle = acp_put_copied(memory_of(board_.victim), source, long_memory_bytes,
                                        ACP_HANDLE_NULL);
            } else {
                handle =
                    acp_put(memory_of(board_.victim), source, long_memory_bytes, ACP_HANDLE_NULL);
                waited = acp_wait_source(handle);
            }
            munmap(source, long_memory_bytes);
            if (waited != 0) {
                fail("acp_wait_source");
            } else if (acp_wait(handle, -1) != ACP_OK) {
                fail("acp_wait");
            }
            note().steps.fetch_add(1, std::memory_order_relaxed);
        }
    }

    [[noreturn]] static void pause_for_ever() {
        for (;;) {
            pause();
        }
    }

    [[noreturn]] void end_badly() {
        switch (board_.ending) {
            case Ending::exit_zero:
                std::exit(0);
            case Ending::exit_three:
                std::exit(3);
            case Ending::segfault:
                std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would make an exit of it
                raise(SIGSEGV);
                break;
            case Ending::acp_abort:
                acp_abort("the test asked for it");
                break;
            default:
                break;
        }
        std::abort();
    }

    // Rank 0: no byte lands after a registration has ended, also when copiers die inside their
    // copies.
    void revoke() {
        acp_unregister_memory(key_);
        while (board_.may_end.load(std::memory_order_acquire) == 0 && !has_bad_memory_) {
            const acp_atkey_t key =
                acp_register_memory(memory_.data(), memory_.size(), acp_rank() % acp_colors());
            note().memory.store(acp_query_ga(key, memory_.data()), std::memory_order_release);
            const std::int64_t until = now_ns() + millisecond_ns / 2;
            while (now_ns() < until) {
            }
            if (acp_unregister_memory(key) != 0) {
                fail("acp_unregister_memory");
                return;
            }
            std::ranges::fill(memory_, std::byte{0x3c});
            for (int look = 0; look < 5; ++look) {
                std::atomic_signal_fence(std::memory_order_seq_cst);  // look again each time
                has_bad_memory_ |= !std::all_of(memory_.begin(), memory_.end(), [](std::byte byte) {
                    return byte == std::byte{0x3c};
                });
            }
            board_.cycles.fetch_add(1, std::memory_order_relaxed);
        }
    }

    // Rank 0's block.
    [[nodiscard]] std::span<std::byte> block() const {
        return {static_cast<std::byte*>(acp_query_address(block_)), block_bytes};
    }

    // On the node that is stopped: copies into rank 0's block, until a copy fails. Then every other
    // call that needs the other node fails with the same code.
    void copy_until_given_up() {
        const acp_ga_t own = acp_query_starter_ga(rank_);
        const acp_ga_t target = memory_of(0);
        std::fill_n(static_cast<std::byte*>(acp_query_address(own)), block_bytes, late_byte);
        while (acp_wait(acp_copy(target, own, block_bytes, ACP_HANDLE_NULL), -1) == ACP_OK) {
            note().steps.fetch_add(1, std::memory_order_relaxed);
        }
        fail("acp_wait");
        has_bad_memory_ |= acp_sync() == 0 || acp_errno() != ACP_ERR_PEER;
        has_bad_memory_ |= acp_wait(acp_copy(target, own, 8, ACP_HANDLE_NULL), -1) != ACP_ERR_PEER;
    }

    // On the first node: adds to a word of the victim until that fails. Then rank 0 frees the block
    // and allocates it anew; no byte of a late copy lands in it.
    void give_up() {
        const acp_ga_t old_value = acp_query_starter_ga(rank_) + 1024;
        const acp_ga_t word = acp_query_starter_ga(board_.victim) + block_bytes;
        while (acp_wait(acp_add8(old_value, word, 1, ACP_HANDLE_NULL), -1) == ACP_OK) {
            note().steps.fetch_add(1, std::memory_order_relaxed);
        }
        fail("acp_wait");
        if (rank_ == 0) {
            has_bad_memory_ |= acp_free(block_) != 0 || acp_malloc(block_bytes, 0) != block_;
            std::ranges::fill(block(), new_byte);
            board_.cycles.store(1, std::memory_order_release);
        }
        while (board_.may_end.load(std::memory_order_acquire) == 0) {
            usleep(1000);  // lint: a pause between looks
        }
        has_bad_memory_ |= rank_ == 0 && std::ranges::count(block(), new_byte) != block_bytes;
    }

    void copy_into_rank_0() {
        const acp_ga_t source = acp_query_starter_ga(rank_);
        while (board_.may_end.load(std::memory_order_acquire) == 0) {
            const int code =
                acp_wait(acp_copy(memory_of(0), source, memory_bytes / 2, ACP_HANDLE_NULL), -1);
            if (code != ACP_OK && code != ACP_ERR_STALE) {
                fail("acp_wait");
                return;
            }
            note().steps.fetch_add(1, std::memory_order_relaxed);
        }
    }

    FaultBoard& board_;
    int rank_;
    std::vector<std::byte> memory_;
    acp_atkey_t key_ = ACP_ATKEY_NULL;
    acp_ga_t block_ = ACP_GA_NULL;  // Work::giving_up: of rank 0
    bool has_bad_memory_ = false;
};

// The rank before acp_init: the launcher's variable.
int rank_from_environment() {
    const char* text = std::getenv("ACP_RANK");
    return text == nullptr ? -1 : std::atoi(text);
}

}  // namespace
}  // namespace acp::test

int main() {
    acp::test::arm_watchdog(100, "a rank under fault");
    const auto board = acp::test::Board<acp::test::FaultBoard>::open();
    const int rank = acp::test::rank_from_environment();
    if (rank < 0 || rank >= acp::test::fault_ranks_max) {
        std::fprintf(stderr, "the launcher does not say which rank this is\n");
        return 2;
    }
    return acp::test::Victim(*board, rank).run();
}
