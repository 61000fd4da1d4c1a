// SPDX-License-Identifier: BSD-3-Clause
// The steps of a process's life by the calls of programs: joining with settings that are wrong,
// becoming a rank, leaving and joining again.
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

#include "api/library.hpp"

#include <acp.h>

namespace acp::api::test {
namespace {

class EpochTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(::setenv("ACP_ON_ERROR", "return", 1), 0); }

    static void expect_failure(int code, const std::string& part) {
        EXPECT_EQ(acp_errno(), code);
        EXPECT_NE(std::string(acp_error_message()).find(part), std::string::npos)
            << acp_error_message();
    }
};

TEST_F(EpochTest, wrong_settings_are_named_and_a_later_join_succeeds) {
    struct Setting {
        const char* name;
        const char* value;
    };

    for (const Setting one : {Setting{"ACP_HEAP_SIZE", "many"}, Setting{"ACP_INTRANODE", "by-hand"},
                              Setting{"ACP_COLORS", "5"}, Setting{"ACP_EAGER_BYTES", "-1"}}) {
        ASSERT_EQ(::setenv(one.name, one.value, 1), 0);
        EXPECT_EQ(acp_init(nullptr, nullptr), -1) << one.name;
        expect_failure(ACP_ERR_CONFIG, one.name);
        EXPECT_EQ(library().life.state(), LifeState::not_initialised) << one.name;
        ASSERT_EQ(::unsetenv(one.name), 0);
    }
    ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
    EXPECT_EQ(library().life.state(), LifeState::in_use);
    EXPECT_EQ(acp_finalize(), 0) << acp_error_message();
    EXPECT_EQ(library().life.state(), LifeState::over);
}

TEST_F(EpochTest, a_second_join_is_refused_and_changes_nothing) {
    ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
    EXPECT_EQ(acp_init(nullptr, nullptr), -1);
    expect_failure(ACP_ERR_STATE, "acp_init");
    EXPECT_EQ(acp_rank(), 0);
    EXPECT_EQ(acp_sync(), 0) << acp_error_message();
    EXPECT_EQ(acp_finalize(), 0) << acp_error_message();
    EXPECT_EQ(acp_finalize(), -1);
    expect_failure(ACP_ERR_STATE, "acp_finalize");
}

TEST_F(EpochTest, a_reset_zeroes_starter_memory_and_frees_the_heap) {
    ASSERT_EQ(::setenv("ACP_HEAP_SIZE", "8M", 1), 0);
    ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
    auto* const words = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(0)));
    words[3] = 7;
    const acp_ga_t block = acp_malloc(1'000, 0);
    ASSERT_NE(block, ACP_GA_NULL) << acp_error_message();
    std::uint64_t mine = 0;
    const acp_atkey_t key = acp_register_memory(&mine, sizeof mine, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    EXPECT_EQ(acp_reset(0), 0) << acp_error_message();
    EXPECT_EQ(library().life.state(), LifeState::in_use);
    EXPECT_EQ(static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(0)))[3], 0U);
    acp_heap_stat_t stat{};
    EXPECT_EQ(acp_heap_stat(0, &stat), 0) << acp_error_message();
    EXPECT_EQ(stat.blocks, 0U);
    EXPECT_EQ(acp_free(block), -1) << "it is of the epoch before";
    EXPECT_EQ(acp_unregister_memory(key), -1) << "it is of the epoch before";
    EXPECT_EQ(acp_finalize(), 0) << acp_error_message();
}

TEST_F(EpochTest, a_reset_to_a_rank_that_the_job_lacks_leaves_all_as_it_was) {
    ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
    auto* const words = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(0)));
    words[3] = 7;
    for (const int wrong : {1, -1, 1 << 30}) {
        EXPECT_EQ(acp_reset(wrong), -1) << wrong;
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
        EXPECT_EQ(library().life.state(), LifeState::in_use);
    }
    EXPECT_EQ(words[3], 7U);
    EXPECT_EQ(acp_finalize(), 0) << acp_error_message();
}

TEST_F(EpochTest, outstanding_commands_are_complete_when_a_process_has_left) {
    ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
    std::uint64_t mine = 0;
    const std::uint64_t value = 9;
    const acp_atkey_t key = acp_register_memory(&mine, sizeof mine, 0);
    const acp_ga_t target = acp_query_ga(key, &mine);
    (void)acp_put(target, &value, sizeof value, ACP_HANDLE_NULL);
    EXPECT_EQ(acp_finalize(), 0) << acp_error_message();
    EXPECT_EQ(mine, 9U);
}

}  // namespace
}  // namespace acp::api::test
