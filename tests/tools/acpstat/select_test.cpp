// SPDX-License-Identifier: BSD-3-Clause
// The job that acpstat selects among those found. One thread.
#include <gtest/gtest.h>
#include <unistd.h>

#include "some_gateways.hpp"

namespace acp::stat {
namespace {

std::vector<Gateway> two_jobs() {
    std::vector<Gateway> all;
    for (const std::uint64_t job : {0xabc0000000000001ULL, 0xabd0000000000002ULL}) {
        all.push_back(some_gateway(job, 0, 2));
        all.push_back(some_gateway(job, 1, 2));
        for (Gateway& gateway : all) gateway.pid = 0;
    }
    return all;
}

TEST(AcpstatSelect, takes_the_job_whose_name_begins_so) {
    auto chosen = select(two_jobs(), "abd");
    ASSERT_TRUE(chosen.is_ok()) << chosen.failure().message();
    ASSERT_EQ(chosen.value().size(), 2U);
    EXPECT_EQ(chosen.value()[0].job_id, 0xabd0000000000002ULL);
}

TEST(AcpstatSelect, a_beginning_that_fits_several_names_them) {
    const auto chosen = select(two_jobs(), "ab");
    ASSERT_FALSE(chosen.is_ok());
    const std::string message(chosen.failure().message());
    EXPECT_NE(message.find("abc0000000000001"), std::string::npos) << message;
    EXPECT_NE(message.find("abd0000000000002"), std::string::npos) << message;
}

TEST(AcpstatSelect, a_name_that_no_job_has_is_refused_with_those_there_are) {
    const auto chosen = select(two_jobs(), "ff");
    ASSERT_FALSE(chosen.is_ok());
    const std::string message(chosen.failure().message());
    EXPECT_NE(message.find("\"ff\""), std::string::npos) << message;
    EXPECT_NE(message.find("abc0000000000001"), std::string::npos) << message;
    EXPECT_FALSE(select({}, "ff").is_ok());
}

TEST(AcpstatSelect, takes_the_whole_job_of_a_process_above_or_below_one_of_its_gateways) {
    auto all = two_jobs();
    all[2].pid = getpid();
    const auto chosen = select(std::move(all), std::to_string(getppid()));
    ASSERT_TRUE(chosen.is_ok()) << chosen.failure().message();
    ASSERT_EQ(chosen.value().size(), 2U);
    EXPECT_EQ(chosen.value()[0].job_id, 0xabd0000000000002ULL);
}

}  // namespace
}  // namespace acp::stat
