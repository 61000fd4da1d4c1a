// SPDX-License-Identifier: BSD-3-Clause
// The line of ACP_REPORT=1 at acp_finalize.
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

#include <acp.h>

namespace acp::api::test {
namespace {

// Returns the text that a process prints at the end of an epoch in which it has made three copies of 100 bytes.
std::string report_of_an_epoch() {
    EXPECT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
    const acp_ga_t start = acp_query_starter_ga(0);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(acp_wait(acp_copy(start + 1'000, start, 100, ACP_HANDLE_NULL), -1), 0);
    testing::internal::CaptureStderr();
    EXPECT_EQ(acp_finalize(), 0) << acp_error_message();
    return testing::internal::GetCapturedStderr();
}

struct Direct {
    unsigned long long commands = 0;
    unsigned long long bytes = 0;
};

Direct direct_of(const std::string& report) {
    Direct direct;
    EXPECT_EQ(std::sscanf(report.c_str(), "acp: rank 0: direct %llu commands %llu B; attach 0, 0 B",
                          &direct.commands, &direct.bytes),
              2)
        << report;
    return direct;
}

TEST(ReportTest, counts_the_commands_and_bytes_since_the_process_began) {
    ASSERT_EQ(::setenv("ACP_REPORT", "1", 1), 0);
    const Direct first = direct_of(report_of_an_epoch());
    const std::string report = report_of_an_epoch();
    const Direct second = direct_of(report);
    EXPECT_EQ(second.commands - first.commands, 3U);
    EXPECT_EQ(second.bytes - first.bytes, 300U);
    EXPECT_NE(report.find("private memory of other ranks: direct"), std::string::npos) << report;
    EXPECT_EQ(report.find("other nodes"), std::string::npos) << "the job has one node: " << report;
    ASSERT_EQ(::unsetenv("ACP_REPORT"), 0);
    EXPECT_EQ(report_of_an_epoch(), "") << "it was not asked for";
}

}  // namespace
}  // namespace acp::api::test
