// SPDX-License-Identifier: BSD-3-Clause
// A collective call in which an allocation of one rank is refused, or the rank dies, at every
// moment: no call hangs or crashes, all return the same result, and if all ranks live they can join
// again. The probe counts the moments; with TEST_EVERY_MOMENT set each of them is tested.
#include <cstdlib>
#include <iostream>

#include "life/driver.hpp"

namespace acp::test {
namespace {

struct Kind {
    std::string name;
    std::vector<std::string> launcher;
    // The path of copies into private memory.
    std::string mode;
};

class RefusalTest : public LifeTest {
protected:
    static constexpr int moments_max = 1000;

    // Runs a scenario at one moment after another until a run has no such moment.
    //   step  from one moment to the next, where runs are long
    static void sweep(const std::string& scenario,
                      const std::string& what,
                      const Kind& kind,
                      int step) {
        std::vector<std::string> launcher = kind.launcher;
        launcher.emplace_back("--on-failure=continue");
        if (std::getenv("TEST_EVERY_MOMENT") != nullptr) step = 1;
        int moments = 0;
        for (int moment = 1; moment < moments_max; moment += step, ++moments) {
            SCOPED_TRACE(kind.name + ": " + scenario + ", " + what + " at " +
                         std::to_string(moment));
            const JobResult result =
                probe({scenario, std::to_string(moment), what, moment % 2 == 0 ? "finalize" : ""},
                      3, {errors_are_returned, kind.mode}, launcher);
            ASSERT_TRUE(result.code.has_value()) << "hangs:\n" << result.output;
            EXPECT_EQ(result.output.find("wrong:"), std::string::npos) << result.output;
            EXPECT_EQ(result.output.find("does nothing for"), std::string::npos) << result.output;
            const bool is_over = result.output.find("the moment never came") != std::string::npos;
            const int killed = 128 + SIGKILL;
            EXPECT_TRUE(*result.code == 0 || (what == "kill" && *result.code == killed))
                << "code " << *result.code << ":\n"
                << result.output;
            if (HasFailure()) return;
            if (is_over) break;
        }
        EXPECT_LT(moments, moments_max - 1);
        std::cout << moments << " moments\n";
    }
};

const Kind on_one_node = {"one node", {}, "ACP_INTRANODE=auto"};
const Kind by_mailbox = {"mailbox", {}, "ACP_INTRANODE=mailbox"};
const Kind on_three_nodes = {"three nodes", {"--nodes", "3"}, "ACP_INTRANODE=auto"};
const Kind by_agents = {"two nodes", {"--nodes", "2"}, "ACP_INTRANODE=auto"};

TEST_F(RefusalTest, in_init_lets_all_join_again) {
    sweep("init", "refuse", on_one_node, 1);
}

TEST_F(RefusalTest, in_init_lets_all_join_again_on_nodes) {
    sweep("init", "refuse", by_agents, 5);
    sweep("init", "refuse", on_three_nodes, 17);
}

TEST_F(RefusalTest, of_a_setting_lets_this_process_join_again) {
    for (const char* who : {"all", "one"}) expect_fine(probe({"bad_setting", who}, 3));
    expect_fine(probe({"bad_setting", "all"}, 0));
}

TEST_F(RefusalTest, in_reset_fails_on_all_which_may_join_again) {
    sweep("reset", "refuse", by_mailbox, 1);
}

TEST_F(RefusalTest, in_reset_fails_on_all_nodes) {
    sweep("reset", "refuse", by_agents, 3);
    sweep("reset", "refuse", on_three_nodes, 11);
}

TEST_F(RefusalTest, by_death_in_init_ends_all) {
    sweep("init", "kill", on_one_node, 9);
}

TEST_F(RefusalTest, by_death_in_reset_ends_all) {
    sweep("reset", "kill", on_one_node, 1);
    sweep("reset", "kill", by_agents, 5);
}

// acp_finalize of a job of one node allocates nothing today: then no moment is reached, and the run
// itself is the check.
TEST_F(RefusalTest, in_finalize_leaves_all_the_same) {
    sweep("finalize", "refuse", on_one_node, 1);
    sweep("finalize", "refuse", by_agents, 1);
}

TEST_F(RefusalTest, in_waits_is_reported_and_a_later_wait_succeeds) {
    const Kind checked = {"checked", {}, "ACP_CHECK=on"};
    const Kind nodes_checked = {"nodes, checked", {"--nodes", "3"}, "ACP_CHECK=on"};
    for (const Kind& kind : {on_one_node, by_mailbox, checked, by_agents, nodes_checked})
        sweep("wait", "refuse", kind, 2);
}

}  // namespace
}  // namespace acp::test
