// SPDX-License-Identifier: BSD-3-Clause
// acp_register_all, acp_put, acp_get and acp_put_signal where a rank dies: on one node, and on
// three with gateways of their own and of the agents.
#include "life/driver.hpp"

namespace acp::test {
namespace {

class PointersTest : public LifeTest {
protected:
    static void expect_all_told(const std::string& scenario,
                                const std::vector<std::string>& environment,
                                std::vector<std::string> launcher) {
        launcher.emplace_back("--on-failure=continue");
        std::vector<std::string> settings = environment;
        settings.push_back(errors_are_returned);
        const JobResult result = probe({scenario}, 3, settings, launcher);
        EXPECT_EQ(result.code, 7) << result.output;
        EXPECT_EQ(result.output.find("wrong:"), std::string::npos) << result.output;
    }

    static void expect_all_told_everywhere(const std::string& scenario) {
        expect_all_told(scenario, {}, {});
        expect_all_told(scenario, {"ACP_INTRANODE=mailbox"}, {});
        expect_all_told(scenario, {}, {"--nodes", "3"});
        expect_all_told(scenario, {"ACP_GATEWAY=agent"}, {"--nodes", "3"});
    }
};

TEST_F(PointersTest, registering_together_fails_on_every_rank_that_lives) {
    expect_all_told_everywhere("register_all_without_a_rank");
}

TEST_F(PointersTest, puts_and_gets_of_a_dead_ranks_memory_fail_and_write_nothing) {
    expect_all_told_everywhere("pointers_to_a_dead_rank");
}

}  // namespace
}  // namespace acp::test
