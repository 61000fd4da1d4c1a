// SPDX-License-Identifier: BSD-3-Clause
// Shared pages on one node and on several: the same pointers on all ranks, what barriers make visible,
// what is refused, and the ends of shared pages. TEST_NODES=several: the job has several nodes.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "conformance/dsm_fixture.hpp"

namespace acp::test {
namespace {

TEST_F(DsmTest, a_thread_does_not_end_the_pages_while_another_one_is_in_a_call) {
    if (procs_ == 1) GTEST_SKIP() << "a call of one rank has ended before the other one begins";
    for (int round = 0; round < 20; ++round) {
        std::uint64_t* const numbers = words(page);
        ASSERT_NE(numbers, nullptr) << acp_error_message();
        int ends = 0;  // the call that is made: acp_finalize_dsm
        const auto announce = [&ends](bool finalizes) {
            ends = finalizes ? 1 : 0;
            EXPECT_EQ(acp_broadcast_team(acp_world_team(), &ends, sizeof ends, 0), 0);
        };
        const auto make = [&](bool finalizes) {
            const int result = finalizes ? acp_finalize_dsm() : acp_barrier_dsm();
            if (result == 0) return;
            EXPECT_EQ(acp_errno(), ACP_ERR_STATE) << acp_error_message();
            announce(!finalizes);
        };
        if (rank_ == 0) {
            std::thread other([&] { make(false); });
            make(true);
            other.join();
        } else {
            EXPECT_EQ(acp_broadcast_team(acp_world_team(), &ends, sizeof ends, 0), 0);
            EXPECT_EQ(ends != 0 ? acp_finalize_dsm() : acp_barrier_dsm(), 0) << acp_error_message();
        }
        if (ends != 0) {
            ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
            continue;
        }
        if (rank_ == 0) *numbers = 7;
        EXPECT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        EXPECT_EQ(*numbers, 7U);
        EXPECT_EQ(acp_free_dsm(numbers), 0) << acp_error_message();
    }
}

TEST_F(DsmTest, pointers_are_the_same_on_all_ranks_and_memory_is_zero) {
    std::uint64_t* const first = words(3 * page);
    std::uint64_t* const second = words(1);
    ASSERT_NE(first, nullptr) << acp_error_message();
    ASSERT_NE(second, nullptr) << acp_error_message();
    for (const std::uint64_t other : exchange(reinterpret_cast<std::uintptr_t>(first)))
        EXPECT_EQ(other, reinterpret_cast<std::uintptr_t>(first));
    EXPECT_EQ(second, first + 3 * page / 8);
    for (std::size_t i = 0; i < 4 * page / 8; ++i) ASSERT_EQ(first[i], 0);
}

TEST_F(DsmTest, a_barrier_shows_each_rank_what_all_have_written) {
    constexpr std::size_t count = 8 * page / 8;
    std::uint64_t* const numbers = words(count * 8);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    const auto own = static_cast<std::size_t>(rank_);
    const auto ranks = static_cast<std::size_t>(procs_);
    for (std::uint64_t round = 1; round <= 200; ++round) {
        for (std::size_t i = own; i < count; i += ranks) numbers[i] = round * count + i;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(numbers[i], round * count + i);
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
    EXPECT_EQ(stats().barriers, 400);
    EXPECT_EQ(stats().faults != 0, has_several_nodes());
}

TEST_F(DsmTest, pointers_to_other_allocations_hold_on_all_ranks) {
    struct Node {
        Node* next;
        std::uint64_t number;
    };

    auto* const nodes = static_cast<Node*>(acp_alloc_dsm(page));
    ASSERT_NE(nodes, nullptr) << acp_error_message();
    if (rank_ == 0) {
        for (std::uint64_t i = 0; i < 100; ++i) nodes[i] = {i < 99 ? nodes + i + 1 : nullptr, i};
    }
    ASSERT_EQ(acp_barrier_dsm(), 0);
    std::uint64_t sum = 0;
    for (const Node* at = nodes; at != nullptr; at = at->next) sum += at->number;
    EXPECT_EQ(sum, 99 * 100 / 2);
}

TEST_F(DsmTest, freed_memory_is_allocated_again_and_zero) {
    std::uint64_t* const first = words(2 * page);
    std::uint64_t* const second = words(page);
    ASSERT_NE(second, nullptr) << acp_error_message();
    if (rank_ == 0) std::memset(first, 1, 3 * page);
    EXPECT_EQ(stats().bytes_allocated, 3 * page);
    EXPECT_EQ(stats().allocations, 2);
    ASSERT_EQ(acp_free_dsm(first), 0) << acp_error_message();
    EXPECT_EQ(stats().bytes_allocated, page);
    EXPECT_EQ(second[0], 0x0101010101010101);
    EXPECT_EQ(words(2 * page), first);
    for (std::size_t i = 0; i < 2 * page / 8; ++i) ASSERT_EQ(first[i], 0);
    EXPECT_EQ(acp_free_dsm(second), 0) << acp_error_message();
}

TEST_F(DsmTest, global_addresses_reach_the_same_bytes) {
    std::uint64_t* const numbers = words(2 * page);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    const acp_ga_t ga = acp_query_ga_dsm(numbers + 600);
    ASSERT_NE(ga, ACP_GA_NULL) << acp_error_message();
    expect_done(acp_add8(acp_query_starter_ga(rank_), ga, 5, ACP_HANDLE_NULL));
    ASSERT_EQ(acp_barrier_dsm(), 0);
    EXPECT_EQ(numbers[600], 5 * static_cast<std::uint64_t>(procs_));
    ASSERT_EQ(acp_barrier_dsm(), 0);
    const auto own = static_cast<std::size_t>(rank_);
    expect_done(acp_put(acp_query_ga_dsm(numbers + own), &ga, sizeof ga, ACP_HANDLE_NULL));
    ASSERT_EQ(acp_barrier_dsm(), 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(procs_); ++i) EXPECT_EQ(numbers[i], ga);
    // and as the source and the target of copies by pointers
    expect_done(acp_get(numbers + 512 + own, acp_query_ga_dsm(numbers + own), 8, ACP_HANDLE_NULL));
    EXPECT_EQ(numbers[512 + own], ga);
}

// The handler of the fault fetches a page on an alternative stack of 16 KiB.
TEST_F(DsmTest, a_small_alternative_stack_has_room_for_a_fault) {
    constexpr std::size_t count = 16;
    std::uint64_t* const numbers = words(count * page);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    if (rank_ == 0) {
        for (std::size_t i = 0; i < count; ++i) numbers[i * page / 8] = i;
    }
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    constexpr std::size_t stack_bytes = 16384;
    auto* const room = static_cast<char*>(
        mmap(nullptr, stack_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(room, MAP_FAILED);
    ASSERT_EQ(mprotect(room + page, stack_bytes, PROT_READ | PROT_WRITE), 0);
    stack_t stack{};
    stack.ss_sp = room + page;
    stack.ss_size = stack_bytes;
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(numbers[i * page / 8], i);
    stack.ss_flags = SS_DISABLE;
    EXPECT_EQ(sigaltstack(&stack, nullptr), 0);
    munmap(room, stack_bytes + 2 * page);
}

// Each round all ranks read what another one wrote, half of it ahead of the first touch.
TEST_F(DsmTest, prefetched_pages_have_the_right_bytes_and_raise_no_fault) {
    constexpr std::size_t pages = 48;
    std::uint64_t* const numbers = words(pages * page);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    constexpr std::size_t per_page = page / 8;
    const auto writer_of = [&](std::uint64_t round, std::size_t i) {
        return static_cast<int>((round + i) % static_cast<std::uint64_t>(procs_));
    };
    for (std::uint64_t round = 1; round <= 20; ++round) {
        for (std::size_t i = 0; i < pages; ++i) {
            if (writer_of(round, i) == rank_) numbers[i * per_page + round] = round * pages + i;
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        const std::size_t first = round % 5;
        const std::size_t count = pages / 2;
        // From within the first page to within the last one.
        ASSERT_EQ(acp_prefetch_dsm(numbers + first * per_page + 7, (count - 1) * page), 0)
            << acp_error_message();
        const std::uint64_t faults = stats().faults;
        for (std::size_t i = first; i < first + count; ++i)
            ASSERT_EQ(numbers[i * per_page + round], round * pages + i) << round;
        EXPECT_EQ(stats().faults, faults) << round;
        for (std::size_t i = 0; i < pages; ++i)
            ASSERT_EQ(numbers[i * per_page + round], round * pages + i) << round;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
}

// The writes that follow a prefetch are recorded, also those of several ranks to one page.
TEST_F(DsmTest, writes_to_prefetched_pages_reach_all_ranks) {
    constexpr std::size_t pages = 32;
    std::uint64_t* const numbers = words(pages * page);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    const auto own = static_cast<std::size_t>(rank_);
    for (std::uint64_t round = 1; round <= 10; ++round) {
        ASSERT_EQ(acp_prefetch_dsm(numbers, pages * page), 0) << acp_error_message();
        for (std::size_t i = 0; i < pages; ++i) numbers[i * page / 8 + own] = round + i + own;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        ASSERT_EQ(acp_prefetch_dsm(numbers, pages * page), 0) << acp_error_message();
        for (std::size_t i = 0; i < pages; ++i) {
            for (std::size_t rank = 0; rank < static_cast<std::size_t>(procs_); ++rank)
                ASSERT_EQ(numbers[i * page / 8 + rank], round + i + rank) << round;
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
}

TEST_F(DsmTest, ranges_outside_of_allocations_are_not_prefetched) {
    std::uint64_t* const numbers = words(2 * page);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    char* const bytes = reinterpret_cast<char*>(numbers);
    std::uint64_t own = 0;
    EXPECT_EQ(acp_prefetch_dsm(&own, 0), 0);
    EXPECT_EQ(acp_prefetch_dsm(bytes + 2 * page - 1, 1), 0) << acp_error_message();
    for (const auto& [address, size] :
         std::vector<std::pair<const void*, std::size_t>>{{nullptr, 1},
                                                          {&own, 8},
                                                          {bytes - 1, 2},
                                                          {bytes, ~std::size_t{0}},
                                                          {bytes, std::size_t{1} << 62}}) {
        EXPECT_EQ(acp_prefetch_dsm(address, size), -1);
        expect_error(ACP_ERR_ARGUMENT,
                     {"acp_prefetch_dsm", "leaves the shared pages",
                      "of " + std::to_string(size) + " byte", hexadecimal_at(address)});
    }
    if (has_several_nodes()) {
        EXPECT_EQ(acp_prefetch_dsm(bytes + 2 * page - 1, 2), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_prefetch_dsm", "leaves the allocations"});
    }
}

volatile sig_atomic_t faults_seen = 0;
volatile sig_atomic_t faults_repaired = 0;

// A handler of the program's own.
void note_and_repair(int /*signal*/, siginfo_t* info, void* context) {
    faults_seen = faults_seen + 1;
    faults_repaired = faults_repaired + acp_handle_fault_dsm(info, context);
    if (faults_seen != faults_repaired) _exit(99);
}

TEST_F(DsmTest, a_handler_of_the_program_passes_faults_on) {
    constexpr std::size_t pages = 8;
    std::uint64_t* const numbers = words(pages * page);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    if (rank_ == 0) {
        for (std::size_t i = 0; i < pages; ++i) numbers[i * page / 8] = i + 1;
    }
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();

    struct sigaction own {};

    own.sa_sigaction = note_and_repair;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK;

    struct sigaction of_bus {};

    struct sigaction of_segv {};

    ASSERT_EQ(sigaction(SIGBUS, &own, &of_bus), 0);
    ASSERT_EQ(sigaction(SIGSEGV, &own, &of_segv), 0);
    for (std::size_t i = 0; i < pages; ++i) EXPECT_EQ(numbers[i * page / 8], i + 1);
    siginfo_t elsewhere{};
    elsewhere.si_signo = SIGSEGV;
    elsewhere.si_code = SEGV_MAPERR;
    elsewhere.si_addr = &own;
    EXPECT_EQ(acp_handle_fault_dsm(&elsewhere, nullptr), 0);
    EXPECT_EQ(acp_handle_fault_dsm(nullptr, nullptr), 0);
    ASSERT_EQ(sigaction(SIGBUS, &of_bus, nullptr), 0);
    ASSERT_EQ(sigaction(SIGSEGV, &of_segv, nullptr), 0);
    if (rank_ == procs_ - 1) {
        EXPECT_EQ(faults_seen != 0, has_several_nodes());
    }
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
}

TEST_F(DsmTest, refuses_what_is_no_allocation_and_no_size) {
    std::uint64_t* const numbers = words(2 * page);
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    std::uint64_t own = 0;
    for (void* const wrong : std::vector<void*>{nullptr, numbers + 1, numbers + page / 8, &own,
                                                numbers + window / 8, numbers + 2 * page / 8}) {
        EXPECT_EQ(acp_free_dsm(wrong), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_free_dsm", "no allocation", hexadecimal_at(wrong)});
    }
    EXPECT_EQ(acp_alloc_dsm(0), nullptr);
    expect_error(ACP_ERR_ARGUMENT, {"acp_alloc_dsm", "0 bytes"});
    for (const std::size_t size : {window, ~std::size_t{0}}) {
        EXPECT_EQ(acp_alloc_dsm(size), nullptr);
        expect_error(ACP_ERR_LIMIT, {"acp_alloc_dsm", "of 64 pages 2 are allocated"});
    }
    for (const void* const wrong :
         std::vector<const void*>{nullptr, &own, numbers + 2 * window / 8}) {
        EXPECT_EQ(acp_query_ga_dsm(wrong), ACP_GA_NULL);
        expect_error(ACP_ERR_ARGUMENT, {"acp_query_ga_dsm", hexadecimal_at(wrong)});
    }
    EXPECT_EQ(acp_query_stats_dsm(nullptr, sizeof(acp_stats_dsm_t)), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_query_stats_dsm", "stats is NULL"});
    acp_stats_dsm_t stats;
    EXPECT_EQ(acp_query_stats_dsm(&stats, 0), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_query_stats_dsm", "size of stats is 0"});
    EXPECT_EQ(acp_register_memory(numbers, page, 0), ACP_ATKEY_NULL);
    expect_error(ACP_ERR_ARGUMENT, {"acp_query_ga_dsm"});
    EXPECT_EQ(acp_init_dsm(window), -1);
    expect_error(ACP_ERR_STATE, {"acp_init_dsm", "already"});
}

TEST_F(DsmTest, statistics_of_other_versions_are_cut_or_end_in_zeros) {
    struct {
        acp_stats_dsm_t known;
        std::uint64_t unknown;
    } longer;

    std::memset(&longer, 0xff, sizeof longer);
    EXPECT_EQ(acp_query_stats_dsm(&longer.known, sizeof longer), 0) << acp_error_message();
    EXPECT_EQ(longer.known.bytes, window);
    EXPECT_EQ(longer.unknown, 0);
    std::uint64_t bytes[2] = {0, 7};
    EXPECT_EQ(acp_query_stats_dsm(reinterpret_cast<acp_stats_dsm_t*>(bytes), 8), 0);
    EXPECT_EQ(bytes[0], window);
    EXPECT_EQ(bytes[1], 7);
}

class DsmLifeTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        if (is_refused_here()) GTEST_SKIP() << acp_error_message();
    }
};

TEST_F(DsmLifeTest, calls_without_shared_pages_fail) {
    int own = 0;
    acp_stats_dsm_t stats;
    EXPECT_EQ(acp_alloc_dsm(page), nullptr);
    expect_error(ACP_ERR_STATE, {"acp_alloc_dsm", "acp_init_dsm"});
    EXPECT_EQ(acp_free_dsm(&own), -1);
    expect_error(ACP_ERR_STATE, {"acp_free_dsm"});
    EXPECT_EQ(acp_barrier_dsm(), -1);
    expect_error(ACP_ERR_STATE, {"acp_barrier_dsm"});
    EXPECT_EQ(acp_finalize_dsm(), -1);
    expect_error(ACP_ERR_STATE, {"acp_finalize_dsm"});
    EXPECT_EQ(acp_query_ga_dsm(&own), ACP_GA_NULL);
    expect_error(ACP_ERR_STATE, {"acp_query_ga_dsm"});
    EXPECT_EQ(acp_query_stats_dsm(&stats, sizeof stats), -1);
    expect_error(ACP_ERR_STATE, {"acp_query_stats_dsm"});
    EXPECT_EQ(acp_prefetch_dsm(&own, sizeof own), -1);
    expect_error(ACP_ERR_STATE, {"acp_prefetch_dsm"});
    EXPECT_EQ(acp_set_update_dsm(&own, sizeof own, ACP_UPDATE_ALWAYS), -1);
    expect_error(ACP_ERR_STATE, {"acp_set_update_dsm"});
}

TEST_F(DsmLifeTest, sizes_out_of_range_are_refused) {
    EXPECT_EQ(acp_init_dsm(0), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_init_dsm", "0 bytes"});
    EXPECT_EQ(acp_init_dsm(~std::size_t{0}), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_init_dsm"});
    EXPECT_EQ(acp_init_dsm(std::size_t{1} << 38), -1);
    expect_error(ACP_ERR_MEMORY, {"acp_init_dsm", "node 0", "274877906944", "--heap-size"});
    EXPECT_EQ(acp_init_dsm(std::size_t{1} << 40), -1);
    expect_error(ACP_ERR_MEMORY, {"acp_init_dsm", "node 0", "1099511627776"});
}

TEST_F(DsmLifeTest, different_sizes_are_refused_on_all_ranks) {
    const std::size_t size = page * (rank_ == procs_ - 1 ? 2 : 1);
    if (procs_ == 1) return;
    EXPECT_EQ(acp_init_dsm(size), -1);
    expect_error(ACP_ERR_ARGUMENT, {"4096 bytes", "8192"});
    EXPECT_EQ(acp_init_dsm(page), 0) << acp_error_message();
    EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
}

// The addresses of a window, and the next one while the last rank uses these.
TEST_F(DsmLifeTest, a_range_that_one_rank_uses_is_taken_by_no_rank) {
    ASSERT_EQ(acp_init_dsm(page), 0) << acp_error_message();
    void* const usual = acp_alloc_dsm(page);
    EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
    const bool is_taker = rank_ == procs_ - 1;
    if (is_taker) {
        ASSERT_EQ(
            mmap(usual, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
            usual);
    }
    ASSERT_EQ(acp_init_dsm(page), 0) << acp_error_message();
    void* const other = acp_alloc_dsm(page);
    EXPECT_NE(other, usual);
    for (const std::uint64_t address : exchange(reinterpret_cast<std::uintptr_t>(other)))
        EXPECT_EQ(address, reinterpret_cast<std::uintptr_t>(other));
    EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
    if (is_taker) munmap(usual, page);
}

TEST_F(DsmLifeTest, no_common_range_is_an_error_on_all_ranks_that_names_the_rank) {
    std::vector<void*> taken;
    const bool is_taker = rank_ == procs_ - 1;
    for (const std::uintptr_t place : std::vector<std::uintptr_t>{
             0x1000'0000'0000, 0x2000'0000'0000, 0x3000'0000'0000, 0x4000'0000'0000,
             0x6800'0000'0000, 0x7e90'0000'0000, 0x0010'0000'0000}) {
        if (!is_taker) break;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a chosen address
        taken.push_back(mmap(reinterpret_cast<void*>(place), page, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    }
    EXPECT_EQ(acp_init_dsm(page), -1);
    expect_error(ACP_ERR_LIMIT, {"acp_init_dsm", "no range of 4096 bytes",
                                 "0x100000000000 rank " + std::to_string(procs_ - 1)});
    for (void* const place : taken) {
        if (place != MAP_FAILED) munmap(place, page);
    }
}

TEST_F(DsmLifeTest, windows_come_and_go_without_a_trace_in_heaps) {
    acp_heap_stat_t before;
    acp_heap_stat_t after;
    ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
    ASSERT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
    sync_ranks();
    ASSERT_EQ(acp_heap_stat(rank_, &before), 0) << acp_error_message();
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
        ASSERT_NE(acp_alloc_dsm(window), nullptr) << acp_error_message();
        ASSERT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
    }
    sync_ranks();
    ASSERT_EQ(acp_heap_stat(rank_, &after), 0) << acp_error_message();
    EXPECT_EQ(after.allocated, before.allocated);
}

TEST_F(DsmLifeTest, a_reset_ends_shared_pages) {
    ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
    ASSERT_NE(acp_alloc_dsm(page), nullptr) << acp_error_message();
    ASSERT_EQ(acp_reset((rank_ + 1) % procs_), 0) << acp_error_message();
    EXPECT_EQ(acp_barrier_dsm(), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
    ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
    auto* const numbers = static_cast<std::uint64_t*>(acp_alloc_dsm(window));
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    numbers[acp_rank()] = 1;
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    for (int i = 0; i < procs_; ++i) EXPECT_EQ(numbers[i], 1);
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
