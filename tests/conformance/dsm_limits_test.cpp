// SPDX-License-Identifier: BSD-3-Clause
// Limits of shared pages, of what the program and the system leave them: as many allocations as there
// are pages, freed memory, an address space without room on one rank, and a program that handles
// SIGSEGV and SIGBUS itself before. TEST_ALLOCATIONS sets how many allocations there are.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t page = 4096;

class DsmLimitsTest : public RankedTest {
protected:
    // Returns false, and skips the test, if the kernel refuses what ACP_DSM_FAULTS names.
    static bool begins(std::size_t bytes) {
        if (acp_init_dsm(bytes) == 0) return true;
        EXPECT_EQ(acp_errno(), ACP_ERR_UNSUPPORTED) << acp_error_message();
        return false;
    }
};

TEST_F(DsmLimitsTest, each_page_may_be_an_allocation_and_all_come_back) {
    const char* const text = std::getenv("TEST_ALLOCATIONS");
    const std::size_t count = text == nullptr ? 512 : std::strtoull(text, nullptr, 0);
    allow_seconds(static_cast<unsigned>(90 + count / 50));
    if (!begins(count * page)) GTEST_SKIP() << acp_error_message();
    std::vector<std::uint64_t*> all(count);
    for (auto& each : all) {
        each = static_cast<std::uint64_t*>(acp_alloc_dsm(1 + page / 2));
        ASSERT_NE(each, nullptr) << acp_error_message();
    }
    acp_stats_dsm_t stats;
    EXPECT_EQ(acp_query_stats_dsm(&stats, sizeof stats), 0) << acp_error_message();
    EXPECT_EQ(stats.allocations, count);
    const auto procs = static_cast<std::size_t>(procs_);
    for (std::size_t i = static_cast<std::size_t>(rank_); i < count; i += procs) *all[i] = i + 1;
    ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    for (std::size_t i = 0; i < count; i += 1 + count / 500) ASSERT_EQ(*all[i], i + 1);
    // In an order that is the same on all ranks.
    Random random(count);
    for (std::size_t i = count; i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    for (std::uint64_t* const each : all) ASSERT_EQ(acp_free_dsm(each), 0) << acp_error_message();
    auto* const whole = static_cast<std::uint64_t*>(acp_alloc_dsm(count * page));
    ASSERT_NE(whole, nullptr) << acp_error_message();
    for (std::size_t i = 0; i < count * page / 8; i += page / 8) ASSERT_EQ(whole[i], 0U);
    EXPECT_EQ(acp_alloc_dsm(count * page), nullptr);
    expect_error(ACP_ERR_LIMIT, {"acp_alloc_dsm"});
    EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
}

// The calls on a range by one rank.
const std::vector<std::pair<int (*)(const void*, std::size_t), const char*>> range_calls = {
    {acp_prefetch_dsm, "acp_prefetch_dsm"},
    {acp_flush_dsm, "acp_flush_dsm"},
    {acp_fence_dsm, "acp_fence_dsm"}};

TEST_F(DsmLimitsTest, ranges_that_leave_the_shared_pages_are_refused) {
    if (!begins(4 * page)) GTEST_SKIP() << acp_error_message();
    auto* const bytes = static_cast<char*>(acp_alloc_dsm(4 * page));
    ASSERT_NE(bytes, nullptr) << acp_error_message();
    char own = 0;
    for (const auto& [call, name] : range_calls) {
        EXPECT_EQ(call(nullptr, 0), 0) << "no byte";
        EXPECT_EQ(call(bytes, 4 * page), 0) << acp_error_message();
        EXPECT_EQ(call(bytes + 4 * page - 1, 1), 0) << acp_error_message();
        for (const auto& [address, size] :
             std::vector<std::pair<char*, std::size_t>>{{nullptr, 1},
                                                        {&own, 1},
                                                        {bytes - 1, 2},
                                                        {bytes, ~std::size_t{0}},
                                                        {bytes + page, ~std::size_t{0} - page}}) {
            EXPECT_EQ(call(address, size), -1) << name << " " << size;
            expect_error(ACP_ERR_ARGUMENT, {name});
        }
    }
    EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
    for (const auto& [call, name] : range_calls) {
        EXPECT_EQ(call(bytes, 1), -1);
        expect_error(ACP_ERR_STATE, {name, "acp_init_dsm"});
    }
}

TEST_F(DsmLimitsTest, freed_memory_is_neither_freed_nor_prefetched_again) {
    if (!begins(16 * page)) GTEST_SKIP() << acp_error_message();
    auto* const bytes = static_cast<char*>(acp_alloc_dsm(4 * page));
    auto* const behind = static_cast<char*>(acp_alloc_dsm(page));
    ASSERT_NE(behind, nullptr) << acp_error_message();
    ASSERT_EQ(acp_free_dsm(bytes), 0) << acp_error_message();
    for (char* const wrong : {bytes, bytes + page, behind + 1, behind + page}) {
        EXPECT_EQ(acp_free_dsm(wrong), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_free_dsm", hexadecimal_at(wrong)});
    }
    const bool is_on_nodes = std::getenv("TEST_NODES") != nullptr;
    for (const auto& [address, size] : std::vector<std::pair<char*, std::size_t>>{
             {bytes, 1}, {bytes + 3 * page, page + 1}, {behind, page + 1}}) {
        for (const auto& [call, name] : range_calls) {
            EXPECT_EQ(call(address, size), is_on_nodes ? -1 : 0);
            if (is_on_nodes) expect_error(ACP_ERR_ARGUMENT, {name});
        }
    }
    for (const auto& [call, name] : range_calls)
        EXPECT_EQ(call(behind + 1, page - 1), 0) << acp_error_message();
    EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
}

std::size_t address_space_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Room for other memory, and not for the window.
TEST_F(DsmLimitsTest, a_rank_whose_address_space_is_full_refuses_the_pages_on_all_ranks) {
    constexpr std::size_t bytes = 2048 * page;
    const bool is_limited = rank_ == procs_ - 1;
    rlimit usual{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &usual), 0);
    if (is_limited) {
        rlimit low = usual;
        low.rlim_cur = address_space_bytes() + bytes / 2;
        ASSERT_EQ(setrlimit(RLIMIT_AS, &low), 0);
    }
    const int opened = acp_init_dsm(bytes);
    const int code = opened == 0 ? 0 : acp_errno();
    const std::string message = acp_error_message();
    ASSERT_EQ(setrlimit(RLIMIT_AS, &usual), 0);
    EXPECT_EQ(opened, -1);
    EXPECT_TRUE(code == ACP_ERR_MEMORY || code == ACP_ERR_SYSTEM) << code;
    if (!is_limited) {
        EXPECT_NE(message.find("rank " + std::to_string(procs_ - 1)), std::string::npos) << message;
    }
    if (!begins(bytes)) GTEST_SKIP() << acp_error_message();
    EXPECT_NE(acp_alloc_dsm(bytes), nullptr) << acp_error_message();
    EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
}

// A page that a handler of the program makes accessible.
char* own_page = nullptr;
volatile std::sig_atomic_t own_faults = 0;

void open_own_page(int /*signal*/, siginfo_t* info, void* /*context*/) {
    own_faults = own_faults + 1;
    if (info->si_addr == own_page) mprotect(own_page, page, PROT_READ | PROT_WRITE);
}

TEST_F(DsmLimitsTest, a_handler_from_before_gets_all_faults_but_those_of_shared_pages) {
    own_page =
        static_cast<char*>(mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(own_page, MAP_FAILED);

    struct sigaction own {};

    own.sa_sigaction = open_own_page;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK;

    struct sigaction of_bus {};

    struct sigaction of_segv {};

    ASSERT_EQ(sigaction(SIGBUS, &own, &of_bus), 0);
    ASSERT_EQ(sigaction(SIGSEGV, &own, &of_segv), 0);
    own_faults = 0;
    const auto touch_own = [] {
        ASSERT_EQ(mprotect(own_page, page, PROT_NONE), 0);
        *static_cast<volatile char*>(own_page) = 1;
    };
    const bool is_open = begins(16 * page);
    if (is_open) {
        auto* const numbers = static_cast<std::uint64_t*>(acp_alloc_dsm(16 * page));
        ASSERT_NE(numbers, nullptr) << acp_error_message();
        for (std::size_t i = 0; i < 16; ++i)
            numbers[i * page / 8 + static_cast<std::size_t>(rank_)] = i;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        for (std::size_t i = 0; i < 16; ++i) ASSERT_EQ(numbers[i * page / 8], i);
        EXPECT_EQ(own_faults, 0);
        touch_own();
        EXPECT_EQ(own_faults, 1);
        EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        touch_own();
        EXPECT_EQ(own_faults, 2) << "also after the end of the pages";
    }
    ASSERT_EQ(sigaction(SIGBUS, &of_bus, nullptr), 0);
    ASSERT_EQ(sigaction(SIGSEGV, &of_segv, nullptr), 0);
    munmap(own_page, page);
}

}  // namespace
}  // namespace acp::test
