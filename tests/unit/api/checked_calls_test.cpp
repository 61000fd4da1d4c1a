// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK=1: each mistake is reported on stderr, once for each place in the program, and a correct
// call is not.
#include <cstdlib>
#include <string>
#include <vector>

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

class CheckedCallsTest : public OneRankJob {
protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(::setenv("ACP_CHECK", "1", 1), 0);
        OneRankJob::SetUpTestSuite();
    }

    static void TearDownTestSuite() {
        OneRankJob::TearDownTestSuite();
        ASSERT_EQ(::unsetenv("ACP_CHECK"), 0);
    }

    // What a call prints.
    template <typename Call>
    static std::string said(const Call& call) {
        testing::internal::CaptureStderr();
        call();
        return testing::internal::GetCapturedStderr();
    }

    // Expects one report that has these parts.
    template <typename Call>
    static void expect_report(const Call& call, const std::vector<std::string>& parts) {
        const std::string report = said(call);
        EXPECT_EQ(report.find("acp: ACP_CHECK: rank 0 on "), 0U) << report;
        EXPECT_NE(report.find("; called from "), std::string::npos) << report;
        for (const std::string& part : parts)
            EXPECT_NE(report.find(part), std::string::npos) << part << " in:\n" << report;
    }

    static void done(acp_handle_t handle) { EXPECT_EQ(acp_wait(handle, -1), 0); }
};

TEST_F(CheckedCallsTest, a_copy_whose_ranges_overlap_is_reported) {
    expect_report([&] { done(acp_copy(starter_ + 8, starter_, 16, ACP_HANDLE_NULL)); },
                  {"acp_copy of 16 bytes whose source and target overlap", "not specified"});
    expect_report([&] { done(acp_copy(starter_, starter_ + 15, 16, ACP_HANDLE_NULL)); },
                  {"acp_copy of 16 bytes"});
}

TEST_F(CheckedCallsTest, a_copy_onto_itself_or_beside_itself_is_not_reported) {
    EXPECT_EQ(said([&] {
                  done(acp_copy(starter_, starter_, 16, ACP_HANDLE_NULL));
                  done(acp_copy(starter_ + 16, starter_, 16, ACP_HANDLE_NULL));
                  done(acp_copy(starter_, starter_ + 16, 16, ACP_HANDLE_NULL));
                  done(acp_copy(starter_ + 8, starter_, 0, ACP_HANDLE_NULL));
              }),
              "");
}

TEST_F(CheckedCallsTest, puts_and_gets_whose_pointer_lies_in_their_range_are_reported) {
    expect_report([&] { done(acp_put(starter_ + 4, words_, 16, ACP_HANDLE_NULL)); },
                  {"acp_put of 16 bytes", "of this process at "});
    expect_report([&] { done(acp_get(words_, starter_ + 4, 16, ACP_HANDLE_NULL)); },
                  {"acp_get of 16 bytes"});
    std::uint64_t apart = 0;
    EXPECT_EQ(said([&] {
                  done(acp_put(starter_, &apart, sizeof apart, ACP_HANDLE_NULL));
                  done(acp_get(&apart, starter_, sizeof apart, ACP_HANDLE_NULL));
                  done(acp_put(starter_, words_, 16, ACP_HANDLE_NULL));
              }),
              "");
}

TEST_F(CheckedCallsTest, an_atomic_whose_word_is_its_target_is_reported) {
    expect_report([&] { done(acp_add8(starter_ + 4 - 4, starter_, 1, ACP_HANDLE_NULL)); },
                  {"acp_add8 of 8 bytes", "must be apart"});
    EXPECT_EQ(said([&] { done(acp_add8(starter_ + 8, starter_, 1, ACP_HANDLE_NULL)); }), "");
}

TEST_F(CheckedCallsTest, a_signal_inside_of_its_bytes_is_reported) {
    const std::vector<std::uint64_t> source(8);
    expect_report(
        [&] {
            done(acp_put_signal(starter_, source.data(), 64, starter_ + 56, 1, ACP_HANDLE_NULL));
        },
        {"acp_put_signal of 64 bytes whose signal lies in its target"});
    expect_report(
        [&] { done(acp_put_signal(starter_ + 128, words_, 64, starter_ + 8, 1, ACP_HANDLE_NULL)); },
        {"acp_put_signal of 64 bytes whose signal lies in its source"});
    EXPECT_EQ(
        said([&] {
            done(acp_put_signal(starter_, source.data(), 64, starter_ + 64, 1, ACP_HANDLE_NULL));
        }),
        "");
}

TEST_F(CheckedCallsTest, a_list_names_the_first_ranges_that_overlap) {
    std::vector<acp_copy_range_t> ranges;
    for (std::uint64_t i = 0; i < 6; ++i)
        ranges.push_back({starter_ + 512 + i * 16, starter_ + i * 16, 16});
    EXPECT_EQ(said([&] { done(acp_copy_v(ranges.data(), ranges.size(), ACP_HANDLE_NULL)); }), "");
    ranges[4].target = ranges[1].target + 8;
    expect_report([&] { done(acp_copy_v(ranges.data(), ranges.size(), ACP_HANDLE_NULL)); },
                  {"acp_copy_v: the target of range ", "counted from 0"});
    ranges[4].target = ranges[2].source;
    expect_report([&] { done(acp_copy_v(ranges.data(), ranges.size(), ACP_HANDLE_NULL)); },
                  {"the source of range 2"});
    ranges[4].target = ranges[4].source + 1;
    ranges.erase(ranges.begin() + 5);
    expect_report([&] { done(acp_copy_v(ranges.data(), ranges.size(), ACP_HANDLE_NULL)); },
                  {"the target of range 4 overlaps its own source"});
}

TEST_F(CheckedCallsTest, a_handle_that_no_call_has_returned_is_reported) {
    constexpr acp_handle_t never = acp_handle_t{1} << 40;
    expect_report([&] { (void)acp_wait(never, 0); },
                  {"acp_wait is given 1099511627776, a handle that no call has returned"});
    EXPECT_EQ(said([&] {
                  (void)acp_wait(ACP_HANDLE_NULL, 0);
                  (void)acp_wait(ACP_HANDLE_ALL, -1);
              }),
              "");
}

TEST_F(CheckedCallsTest, a_place_is_reported_once) {
    const std::string report = said([&] {
        for (int i = 0; i < 10; ++i) done(acp_copy(starter_ + 8, starter_, 16, ACP_HANDLE_NULL));
    });
    EXPECT_EQ(report.find("ACP_CHECK"), report.rfind("ACP_CHECK")) << report;
    EXPECT_NE(report, "");
}

}  // namespace
}  // namespace acp::api::test
