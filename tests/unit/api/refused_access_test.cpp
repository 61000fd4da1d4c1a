// SPDX-License-Identifier: BSD-3-Clause
// Lists of copies, fetching atomics, memory, the heap, locks and waits for words with arguments that a job of one rank
// cannot serve: null, misaligned, beyond the end, of no rank, wrapping around. Each call has its
// code, a message with its name and the value, and has written nothing.
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include <acp.h>

#include "unit/api/called.hpp"
#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
constexpr int int_min = std::numeric_limits<int>::min();
constexpr int int_max = std::numeric_limits<int>::max();

class RefusedAccess : public OneRankJob {
protected:
    // A command that cannot run has a handle, whose wait returns the code.
    void expect_failed(const char* call, acp_handle_t handle, int code, const std::string& value) {
        SCOPED_TRACE(std::string(call) + ", " + value);
        ASSERT_NE(handle, ACP_HANDLE_NULL) << acp_error_message();
        EXPECT_EQ(acp_wait(handle, -1), code) << acp_error_message();
        const std::string message = acp_error_message();
        EXPECT_NE(message.find(call), std::string::npos) << message;
        EXPECT_NE(message.find(value), std::string::npos) << message;
        // A list has a failure of its own behind those of its ranges.
        for (int i = 0; i < 3 && acp_wait(handle, -1) != ACP_OK; ++i)
            EXPECT_EQ(acp_errno(), ACP_ERR_ORDER) << acp_error_message();
        EXPECT_EQ(acp_wait(handle, -1), ACP_OK) << acp_error_message();
        expect_unchanged();
    }

    void expect_all(const std::vector<RefusedCall>& rows) {
        for (const RefusedCall& row : rows) {
            expect_refused(row);
            if (HasFatalFailure()) return;
        }
        expect_unchanged();
    }
};

TEST_F(RefusedAccess, lists_and_blocks_without_their_arrays) {
    const ptrdiff_t stride = 8;
    const std::size_t count = 2;
    expect_failed("acp_copy_v", acp_copy_v(nullptr, 1, ACP_HANDLE_NULL), ACP_ERR_ARGUMENT, "NULL");
    for (const int dimensions : {-1, int_min, int_max, 100}) {
        expect_failed("acp_copy_strided",
                      acp_copy_strided(starter_, &stride, starter_ + 512, &stride, 8, &count,
                                       dimensions, ACP_HANDLE_NULL),
                      ACP_ERR_ARGUMENT, std::to_string(dimensions));
    }
    expect_failed(
        "acp_copy_strided",
        acp_copy_strided(starter_, nullptr, starter_ + 512, &stride, 8, &count, 1, ACP_HANDLE_NULL),
        ACP_ERR_ARGUMENT, "NULL");
    expect_failed(
        "acp_copy_strided",
        acp_copy_strided(starter_, &stride, starter_ + 512, nullptr, 8, &count, 1, ACP_HANDLE_NULL),
        ACP_ERR_ARGUMENT, "NULL");
    expect_failed("acp_copy_strided",
                  acp_copy_strided(starter_, &stride, starter_ + 512, &stride, 8, nullptr, 1,
                                   ACP_HANDLE_NULL),
                  ACP_ERR_ARGUMENT, "NULL");
}

TEST_F(RefusedAccess, fetching_atomics_set_the_code_and_return_0) {
    const auto expect_code = [this](const char* call, auto result, int code) {
        EXPECT_EQ(result, 0) << call;
        EXPECT_EQ(acp_errno(), code) << call << ": " << acp_error_message();
        EXPECT_NE(std::string(acp_error_message()).find(call), std::string::npos)
            << acp_error_message();
        acp_clear_errno();
        expect_unchanged();
    };
    acp_clear_errno();
    const acp_ga_t odd = starter_ + 66;
    for (const auto& [address, code] :
         std::vector<std::pair<acp_ga_t, int>>{{odd + 1, ACP_ERR_ALIGNMENT},
                                               {odd, ACP_ERR_ALIGNMENT},
                                               {ACP_GA_NULL, ACP_ERR_ADDRESS},
                                               {starter_end_, ACP_ERR_ADDRESS}}) {
        expect_code("acp_fetch_cas4", acp_fetch_cas4(address, 0, 1), code);
        expect_code("acp_fetch_cas8", acp_fetch_cas8(address, 0, 1), code);
        expect_code("acp_fetch_swap4", acp_fetch_swap4(address, 1), code);
        expect_code("acp_fetch_swap8", acp_fetch_swap8(address, 1), code);
        expect_code("acp_fetch_add4", acp_fetch_add4(address, 1), code);
        expect_code("acp_fetch_add8", acp_fetch_add8(address, 1), code);
        expect_code("acp_fetch_xor4", acp_fetch_xor4(address, 1), code);
        expect_code("acp_fetch_xor8", acp_fetch_xor8(address, 1), code);
        expect_code("acp_fetch_or4", acp_fetch_or4(address, 1), code);
        expect_code("acp_fetch_or8", acp_fetch_or8(address, 1), code);
        expect_code("acp_fetch_and4", acp_fetch_and4(address, 0), code);
        expect_code("acp_fetch_and8", acp_fetch_and8(address, 0), code);
        expect_code("acp_fetch_min4", acp_fetch_min4(address, -1), code);
        expect_code("acp_fetch_min8", acp_fetch_min8(address, -1), code);
        expect_code("acp_fetch_max4", acp_fetch_max4(address, int_max), code);
        expect_code("acp_fetch_max8", acp_fetch_max8(address, int_max), code);
    }
}

TEST_F(RefusedAccess, addresses_and_registrations_of_none) {
    char* const own = new char[4096];
    const acp_atkey_t key = acp_register_memory(own, 4096, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    acp_atkey_t gone = acp_register_memory(own, 16, 0);
    ASSERT_EQ(acp_unregister_memory(gone), 0);
    const int colors = acp_colors();
    acp_ga_t first = 0;
    acp_atkey_t made = 0;
    expect_all({
        ACP_REFUSED_BY_0(acp_query_starter_ga, ACP_ERR_ARGUMENT, "rank -1", -1),
        ACP_REFUSED_BY_0(acp_query_starter_ga, ACP_ERR_ARGUMENT, "rank 1", 1),
        ACP_REFUSED_BY_0(acp_query_starter_ga, ACP_ERR_ARGUMENT, "2147483647", int_max),
        ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "0 bytes", own, 0, 0),
        ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "", nullptr, 8, 0),
        ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "colour -1", own, 8, -1),
        ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "colour", own, 8, colors),
        ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "", own, all, 0),
        ACP_REFUSED(acp_register_all, ACP_ERR_ARGUMENT, "addresses is NULL", own, 8, 0, nullptr,
                    const_cast<acp_atkey_t*>(&made)),
        ACP_REFUSED(acp_register_all, ACP_ERR_ARGUMENT, "key is NULL", own, 8, 0,
                    const_cast<acp_ga_t*>(&first), nullptr),
        ACP_REFUSED(acp_unregister_memory, ACP_ERR_ARGUMENT, "", ACP_ATKEY_NULL),
        ACP_REFUSED(acp_unregister_memory, ACP_ERR_ARGUMENT, "", acp_atkey_t{12345}),
        ACP_REFUSED(acp_unregister_memory, ACP_ERR_STALE, "", gone),
        ACP_REFUSED_BY_0(acp_query_ga, ACP_ERR_ADDRESS, "", key, own + 4096),
        ACP_REFUSED_BY_0(acp_query_ga, ACP_ERR_ADDRESS, "", key, own - 1),
        ACP_REFUSED_BY_0(acp_query_ga, ACP_ERR_STALE, "", gone, own),
        ACP_REFUSED(acp_query_address, ACP_ERR_ADDRESS, "null", ACP_GA_NULL),
        ACP_REFUSED(acp_query_address, ACP_ERR_ADDRESS, "0x1", acp_ga_t{1}),
        ACP_REFUSED(acp_query_address, ACP_ERR_ADDRESS, "", starter_end_),
        ACP_REFUSED(acp_query_rank, ACP_ERR_ADDRESS, "null", ACP_GA_NULL),
        ACP_REFUSED(acp_query_rank, ACP_ERR_ADDRESS, "0xffff", all),
        ACP_REFUSED(acp_query_color, ACP_ERR_ADDRESS, "null", ACP_GA_NULL),
    });
    EXPECT_EQ(first, 0U);
    EXPECT_EQ(made, 0U);
    EXPECT_NE(acp_query_ga(key, own + 4095), ACP_GA_NULL) << "the last byte";
    EXPECT_EQ(acp_unregister_memory(key), 0);
    delete[] own;
}

TEST_F(RefusedAccess, blocks_that_no_heap_has) {
    const acp_ga_t block = acp_malloc(64, 0);
    ASSERT_NE(block, ACP_GA_NULL);
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    std::size_t sizes[2] = {8, all};
    acp_ga_t addresses[2] = {7, 7};
    acp_ga_t* const out = addresses;
    const std::size_t* const given = sizes;
    expect_all({
        ACP_REFUSED_BY_0(acp_malloc, ACP_ERR_ARGUMENT, "rank -1", 8, -1),
        ACP_REFUSED_BY_0(acp_malloc, ACP_ERR_ARGUMENT, "rank 1", 8, 1),
        ACP_REFUSED_BY_0(acp_malloc, ACP_ERR_ARGUMENT, "-2147483648", 8, int_min),
        ACP_REFUSED_BY_0(acp_malloc, ACP_ERR_MEMORY, "", all, 0),
        ACP_REFUSED_BY_0(acp_malloc, ACP_ERR_MEMORY, "", all - 15, 0),
        ACP_REFUSED_BY_0(acp_malloc, ACP_ERR_MEMORY, "", std::uint64_t{1} << 40, 0),
        ACP_REFUSED_BY_0(acp_calloc, ACP_ERR_ARGUMENT, "2^64", std::uint64_t{1} << 32,
                         std::uint64_t{1} << 32, 0),
        ACP_REFUSED_BY_0(acp_calloc, ACP_ERR_MEMORY, "", all, 1, 0),
        ACP_REFUSED_BY_0(acp_calloc, ACP_ERR_ARGUMENT, "rank 7", 1, 8, 7),
        ACP_REFUSED_BY_0(acp_aligned_alloc, ACP_ERR_ARGUMENT, "not 0", 0, 8, 0),
        ACP_REFUSED_BY_0(acp_aligned_alloc, ACP_ERR_ARGUMENT, "not 3", 3, 8, 0),
        ACP_REFUSED_BY_0(acp_aligned_alloc, ACP_ERR_ARGUMENT, "not 9223372036854775808",
                         std::uint64_t{1} << 63, 8, 0),
        ACP_REFUSED_BY_0(acp_realloc, ACP_ERR_ADDRESS, "", starter_, 8),
        ACP_REFUSED_BY_0(acp_realloc, ACP_ERR_ADDRESS, "", block + 8, 8),
        ACP_REFUSED_BY_0(acp_realloc, ACP_ERR_MEMORY, "", block, all),
        ACP_REFUSED(acp_free, ACP_ERR_ADDRESS, "", block + 1),
        ACP_REFUSED(acp_free, ACP_ERR_ADDRESS, "", block + 16),
        ACP_REFUSED(acp_free, ACP_ERR_ADDRESS, "", starter_),
        ACP_REFUSED(acp_free, ACP_ERR_ADDRESS, "0xffff", all),
        ACP_REFUSED(acp_malloc_many, ACP_ERR_ARGUMENT, "NULL", 1, nullptr, 0, out),
        ACP_REFUSED(acp_malloc_many, ACP_ERR_ARGUMENT, "NULL", 1, given, 0, nullptr),
        ACP_REFUSED(acp_malloc_many, ACP_ERR_ARGUMENT, "rank 3", 1, given, 3, out),
        ACP_REFUSED(acp_malloc_many, ACP_ERR_MEMORY, "", 2, given, 0, out),
        ACP_REFUSED(acp_malloc_many, ACP_ERR_ARGUMENT, "blocks", all, given, 0, out),
        ACP_REFUSED(acp_free_many, ACP_ERR_ARGUMENT, "addresses is NULL", 1, nullptr),
        ACP_REFUSED(acp_free_many, ACP_ERR_ARGUMENT, "blocks", all, out),
        ACP_REFUSED(acp_usable_size, ACP_ERR_ADDRESS, "", block + 8),
        ACP_REFUSED(acp_usable_size, ACP_ERR_ADDRESS, "null", ACP_GA_NULL),
        ACP_REFUSED(acp_heap_stat, ACP_ERR_ARGUMENT, "stat is NULL", 0, nullptr),
        ACP_REFUSED(acp_heap_stat, ACP_ERR_ARGUMENT, "rank -1", -1, &before_),
        ACP_REFUSED(acp_heap_check, ACP_ERR_ARGUMENT, "rank 1", 1),
    });
    EXPECT_EQ(acp_free(block), 0);
    EXPECT_EQ(acp_free(ACP_GA_NULL), 0);
    expect_refused(ACP_REFUSED(acp_free, ACP_ERR_STALE, "", block));
}

TEST_F(RefusedAccess, locks_that_are_none) {
    const acp_lock_t lock = acp_create_lock(0);
    ASSERT_NE(lock.ga, ACP_GA_NULL) << acp_error_message();
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    expect_all({
        ACP_REFUSED(acp_create_lock, ACP_ERR_ARGUMENT, "rank 1", 1),
        ACP_REFUSED(acp_create_lock, ACP_ERR_ARGUMENT, "rank -1", -1),
        ACP_REFUSED(acp_unlock, ACP_ERR_STATE, "", lock),
    });
    ASSERT_EQ(acp_lock(lock), 0);
    expect_all({
        ACP_REFUSED(acp_lock, ACP_ERR_STATE, "", lock),
        ACP_REFUSED(acp_free_lock, ACP_ERR_STATE, "", lock),
    });
    ASSERT_EQ(acp_unlock(lock), 0);
    for (const acp_ga_t none :
         {ACP_GA_NULL, starter_, lock.ga + 8, lock.ga + 1, starter_end_, all}) {
        const acp_lock_t wrong{none};
        SCOPED_TRACE(std::to_string(none));
        for (const RefusedCall& row :
             {ACP_REFUSED(acp_lock, 0, "", wrong), ACP_REFUSED(acp_try_lock, 0, "", wrong),
              ACP_REFUSED(acp_lock_timeout, 0, "", wrong, 1000),
              ACP_REFUSED(acp_unlock, 0, "", wrong), ACP_REFUSED(acp_free_lock, 0, "", wrong)}) {
            acp_clear_errno();
            EXPECT_TRUE(row.has_failed()) << row.call;
            EXPECT_TRUE(acp_errno() == ACP_ERR_ADDRESS || acp_errno() == ACP_ERR_STALE)
                << acp_error_message();
            EXPECT_NE(std::string(acp_error_message()).find(row.call), std::string::npos)
                << acp_error_message();
        }
    }
    expect_unchanged();
    ASSERT_EQ(acp_free_lock(lock), 0);
    expect_refused(ACP_REFUSED(acp_lock, ACP_ERR_STALE, "", lock));
    expect_refused(ACP_REFUSED(acp_free_lock, ACP_ERR_STALE, "", lock));
}

TEST_F(RefusedAccess, words_that_no_thread_can_wait_for) {
    alignas(8) char word[16] = {};
    const auto wait = [](const volatile void* place, std::size_t bytes, int comparison,
                         std::uint64_t value) {
        return acp_wait_word(place, bytes, static_cast<acp_word_comparison_t>(comparison), value,
                             0);
    };

    struct Row {
        const volatile void* place;
        std::size_t bytes;
        int comparison;
        std::uint64_t value;
        int code;
        const char* words;
    };

    for (const Row& row : std::vector<Row>{
             {nullptr, 8, ACP_WORD_EQUAL, 1, ACP_ERR_ARGUMENT, "NULL"},
             {word, 0, ACP_WORD_EQUAL, 1, ACP_ERR_ARGUMENT, "not 0"},
             {word, 3, ACP_WORD_EQUAL, 1, ACP_ERR_ARGUMENT, "not 3"},
             {word, 16, ACP_WORD_EQUAL, 1, ACP_ERR_ARGUMENT, "not 16"},
             {word, all, ACP_WORD_EQUAL, 1, ACP_ERR_ARGUMENT, "not 18446744073709551615"},
             {word + 1, 8, ACP_WORD_EQUAL, 1, ACP_ERR_ALIGNMENT, "not aligned"},
             {word + 2, 4, ACP_WORD_EQUAL, 1, ACP_ERR_ALIGNMENT, "not aligned"},
             {word, 8, ACP_WORD_EQUAL - 1, 1, ACP_ERR_ARGUMENT, "comparison"},
             {word, 8, ACP_WORD_GREATER_EQUAL + 1, 1, ACP_ERR_ARGUMENT, "comparison"},
             {word, 1, ACP_WORD_EQUAL, 256, ACP_ERR_ARGUMENT, "256"},
             {word, 4, ACP_WORD_EQUAL, std::uint64_t{1} << 32, ACP_ERR_ARGUMENT, "4294967296"},
             {word, 8, ACP_WORD_EQUAL, 1, ACP_ERR_TIMEOUT, ""},
             {word + 1, 1, ACP_WORD_EQUAL, 255, ACP_ERR_TIMEOUT, ""},
         }) {
        acp_clear_errno();
        EXPECT_EQ(wait(row.place, row.bytes, row.comparison, row.value), row.code)
            << row.words << ": " << acp_error_message();
        EXPECT_NE(std::string(acp_error_message()).find(row.words), std::string::npos)
            << acp_error_message();
    }
    EXPECT_EQ(wait(word, 8, ACP_WORD_EQUAL, 0), ACP_OK);
}

}  // namespace
}  // namespace acp::api::test
