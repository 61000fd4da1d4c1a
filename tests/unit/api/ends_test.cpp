// SPDX-License-Identifier: BSD-3-Clause
// Ranks as arguments of calls, and handles that have the type of a pointer.
#include "api/ends.hpp"

#include <string>

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

class EndsTest : public OneRankJob {};

TEST_F(EndsTest, a_rank_of_the_job_is_a_process_and_any_other_is_named) {
    EXPECT_EQ(process_of("destination", 0).value(), 0U);
    for (const int wrong : {-1, 1, 1 << 30}) {
        const auto process = process_of("destination", wrong);
        ASSERT_FALSE(process.is_ok());
        EXPECT_EQ(process.failure().code(), base::Code::argument);
        EXPECT_EQ(process.failure().message(),
                  "destination " + std::to_string(wrong) + " is not one of ranks 0 to 0");
    }
}

TEST_F(EndsTest, a_number_and_its_handle_are_each_other_s) {
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
        EXPECT_EQ(number_of(handle_of<acp_ch_t>(number)), number);
}

}  // namespace
}  // namespace acp::api::test
