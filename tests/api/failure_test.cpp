// SPDX-License-Identifier: BSD-3-Clause
// Failures as values: failed handles in order, wait, inquire and complete; each failure is reported
// once. Run with ACP_ON_ERROR=return; the lifecycle tests test fatal failures from outside.
#include "api/canary.hpp"

namespace acp::test {
namespace {

class FailureTest : public RankedTest {
protected:
    [[nodiscard]] acp_handle_t fail_one(acp_handle_t order = ACP_HANDLE_NULL) const {
        return acp_copy(ACP_GA_NULL, acp_query_starter_ga(rank_), 8, order);
    }
};

TEST_F(FailureTest, is_complete_at_once) {
    const acp_handle_t failed = fail_one();
    EXPECT_NE(failed, ACP_HANDLE_NULL);
    EXPECT_EQ(acp_inquire(failed), 0);
    expect_failure(failed, ACP_ERR_ADDRESS);
}

TEST_F(FailureTest, is_reported_once) {
    const acp_handle_t failed = fail_one();
    EXPECT_EQ(acp_wait(failed, -1), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_wait(failed, -1), ACP_OK);
    EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_OK);
}

TEST_F(FailureTest, is_reported_by_a_wait_for_a_later_command) {
    const acp_ga_t own = acp_query_starter_ga(rank_);
    (void)fail_one();
    const acp_handle_t later = acp_copy(own, own + 64, 8, ACP_HANDLE_NULL);
    EXPECT_EQ(acp_wait(later, -1), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_wait(later, -1), ACP_OK);
}

TEST_F(FailureTest, is_not_reported_by_a_wait_for_an_earlier_command) {
    const acp_ga_t own = acp_query_starter_ga(rank_);
    const acp_handle_t earlier = acp_copy(own, own + 64, 8, ACP_HANDLE_NULL);
    const acp_handle_t failed = fail_one();
    EXPECT_EQ(acp_wait(earlier, -1), ACP_OK);
    EXPECT_EQ(acp_wait(failed, -1), ACP_ERR_ADDRESS);
}

TEST_F(FailureTest, stops_a_command_ordered_after_it) {
    const Canary canary;
    const acp_ga_t target = canary.starter.at(rank_, 8);
    const acp_ga_t source = canary.starter.at(rank_, 512);
    for (const bool is_cont : {false, true}) {
        const acp_handle_t failed = fail_one();
        const acp_handle_t stopped =
            acp_copy(target, source, 8, is_cont ? ACP_HANDLE_CONT : failed);
        EXPECT_NE(stopped, ACP_HANDLE_NULL);
        EXPECT_EQ(acp_wait(failed, -1), ACP_ERR_ADDRESS);
        expect_failure(stopped, ACP_ERR_ORDER,
                       {"acp_copy by rank " + std::to_string(rank_) + " on ", hexadecimal(target),
                        "the command of handle " + std::to_string(failed) + ","});
        EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_OK);
    }
    canary.expect_untouched();
}

TEST_F(FailureTest, stops_a_whole_chain_and_nothing_else) {
    const Canary canary;
    const acp_ga_t own = acp_query_starter_ga(rank_) + 8192;
    auto* words = static_cast<std::uint64_t*>(acp_query_address(own));
    words[0] = 0;
    words[1] = 77;
    acp_handle_t previous = fail_one();
    for (int link = 0; link < 10; ++link) {
        previous =
            acp_copy(canary.starter.at(rank_, 8), canary.starter.at(rank_, 512), 8, previous);
    }
    acp_copy(own, own + 8, 8, ACP_HANDLE_NULL);
    EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_ERR_ADDRESS);
    for (int link = 0; link < 10; ++link) {
        EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_ERR_ORDER);
    }
    EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_OK);
    EXPECT_EQ(words[0], 77U);
    canary.expect_untouched();
}

TEST_F(FailureTest, stops_atomics_ordered_after_it) {
    const Canary canary;
    for (const NamedAtomic& atomic : named_atomics()) {
        SCOPED_TRACE(atomic.name);
        const acp_handle_t failed = fail_one();
        const acp_handle_t stopped = atomic.issue(
            canary.starter.at(rank_), canary.starter.at((rank_ + 1) % procs_, 64), failed);
        EXPECT_EQ(acp_wait(failed, -1), ACP_ERR_ADDRESS);
        EXPECT_EQ(acp_wait(stopped, -1), ACP_ERR_ORDER);
    }
    canary.expect_untouched();
}

TEST_F(FailureTest, does_not_stop_commands_issued_after_its_report) {
    const acp_ga_t own = acp_query_starter_ga(rank_) + 8192;
    auto* words = static_cast<std::uint64_t*>(acp_query_address(own));
    words[0] = 0;
    words[1] = 78;
    EXPECT_EQ(acp_wait(fail_one(), -1), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_wait(acp_copy(own, own + 8, 8, ACP_HANDLE_ALL), -1), ACP_OK)
        << acp_error_message();
    EXPECT_EQ(words[0], 78U);
}

TEST_F(FailureTest, sets_the_error_in_complete) {
    const acp_handle_t failed = fail_one();
    acp_complete(failed);
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
    EXPECT_NE(std::string(acp_error_message()).find("rank " + std::to_string(rank_)),
              std::string::npos)
        << "the message does not name the rank: " << acp_error_message();
    EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_OK)
        << "acp_complete has already returned this failure";
}

TEST_F(FailureTest, survives_many_failures) {
    // the library keeps 8,192 failures one by one and counts later ones
    constexpr int kept = 8192;
    for (int count = 0; count < kept; ++count) {
        (void)fail_one();
    }
    int told = 0;
    while (acp_wait(ACP_HANDLE_ALL, -1) == ACP_ERR_ADDRESS) {
        ++told;
    }
    EXPECT_EQ(told, kept);
    const acp_ga_t own = acp_query_starter_ga(rank_);
    expect_done(acp_copy(own, own + 64, 8, ACP_HANDLE_ALL));
}

TEST_F(FailureTest, has_a_phrase_for_every_code) {
    for (int code = ACP_OK; code <= ACP_ERR_EXCEPTION; ++code) {
        EXPECT_STRNE(acp_strerror(code), "");
        EXPECT_STRNE(acp_strerror(code), "unknown error");
    }
    EXPECT_STREQ(acp_strerror(-1), "unknown error");
    EXPECT_STREQ(acp_strerror(ACP_ERR_EXCEPTION + 1), "unknown error");
}

}  // namespace
}  // namespace acp::test
