// SPDX-License-Identifier: BSD-3-Clause
// Starts scenarios of life_probe and checks how they end.
#pragma once

#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/job.hpp"
#include "support/watchdog.hpp"

namespace acp::test {

inline constexpr int aborted = 128 + SIGABRT;
inline const std::string errors_are_returned = "ACP_ON_ERROR=return";

class LifeTest : public testing::Test {
protected:
    void SetUp() override {
        adopt_orphans();
        arm_watchdog(600, "an edge of the library's life");
    }

    void TearDown() override { arm_watchdog(0, ""); }

    // words: the scenario and its arguments. ranks 0: no launcher.
    static JobResult probe(std::vector<std::string> words,
                           int ranks,
                           std::vector<std::string> environment = {errors_are_returned},
                           std::vector<std::string> launcher = {});

    static void expect_fine(const JobResult& result) { EXPECT_EQ(result.code, 0) << result.output; }

    static void expect_said(const JobResult& result, const std::vector<std::string>& parts) {
        for (const std::string& part : parts) {
            EXPECT_NE(result.output.find(part), std::string::npos) << part << ":\n"
                                                                   << result.output;
        }
    }
};

}  // namespace acp::test
