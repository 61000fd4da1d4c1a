// SPDX-License-Identifier: BSD-3-Clause
// The path of life_probe, which only the build knows.
#include "life/driver.hpp"

#include <utility>

namespace acp::test {

JobResult LifeTest::probe(std::vector<std::string> words,
                          int ranks,
                          std::vector<std::string> environment,
                          std::vector<std::string> launcher) {
    JobOptions options;
    options.is_launched = ranks > 0;
    options.ranks = ranks;
    options.launcher = std::move(launcher);
    options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/life_probe"};
    options.program.insert(options.program.end(), words.begin(), words.end());
    options.environment = std::move(environment);
    return run_job(options);
}

}  // namespace acp::test
