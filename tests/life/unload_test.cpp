// SPDX-License-Identifier: BSD-3-Clause
// Plugins that use ACP are unloaded at every moment and loaded again: alone, in a job of a node,
// and over two nodes.
#include <utility>

#include "life/driver.hpp"

namespace acp::test {
namespace {

const std::string shared_plugin = ACP_TEST_PROGRAM_DIR "/life_plugin_shared.so";
const std::string static_plugin = ACP_TEST_PROGRAM_DIR "/life_plugin_static.so";

class UnloadTest : public LifeTest {
protected:
    static void expect_right(const std::string& scenario,
                             const std::string& plugin,
                             const std::string& other = "-") {
        for (const auto& [ranks, launcher] :
             {std::pair{0, std::vector<std::string>{}}, std::pair{2, std::vector<std::string>{}},
              std::pair{2, std::vector<std::string>{"--nodes", "2"}}}) {
            JobOptions options;
            options.is_launched = ranks > 0;
            options.ranks = ranks;
            options.launcher = launcher;
            options.program = {ACP_TEST_PROGRAM_DIR "/life_unload_probe", scenario, plugin, other};
            options.environment = {errors_are_returned};
            const JobResult result = run_job(options);
            EXPECT_EQ(result.code, 0)
                << scenario << ' ' << plugin << " with " << ranks << " ranks: " << result.output;
        }
    }
};

TEST_F(UnloadTest, threads_that_used_the_library_end_after_it_was_closed) {
    expect_right("again", shared_plugin);
    expect_right("again", static_plugin);
}

TEST_F(UnloadTest, a_job_continues_when_the_library_is_closed_and_opened_again) {
    expect_right("live", shared_plugin);
    expect_right("live", static_plugin);
}

TEST_F(UnloadTest, a_library_that_was_closed_joins_again) {
    expect_right("unused", shared_plugin);
    expect_right("unused", static_plugin);
}

TEST_F(UnloadTest, a_second_copy_is_refused) {
    expect_right("second", shared_plugin, static_plugin);
    expect_right("second", static_plugin, shared_plugin);
    expect_right("namespace", shared_plugin, shared_plugin);
}

}  // namespace
}  // namespace acp::test
