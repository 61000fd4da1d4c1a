// SPDX-License-Identifier: BSD-3-Clause
// Tests that all ranks of a job run in lockstep: a main() that joins the job, runs the same
// GoogleTest tests on every rank, and leaves. A test body is collective: all ranks pass the same
// acp_sync calls. A fatal failure (ASSERT_*) therefore ends its process, which ends the job; after
// a failed EXPECT_* the rank continues. Rank 0 prints the progress, the others only their failures.
// Main thread only.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <acp.h>

namespace acp::test {

// The body of main(): joins, runs all tests, leaves. Returns the exit code.
int run_ranked_tests(int argc, char** argv);

// Barrier that ends the process with a message when it fails.
void sync_ranks();

// Every rank contributes a value and gets the values of all ranks, by rank. Collective. Uses the
// last 16 * procs bytes of the starter memory, which no test uses otherwise.
[[nodiscard]] std::vector<std::uint64_t> exchange(std::uint64_t mine);

// Bytes of starter memory a test may use.
[[nodiscard]] std::size_t starter_room();

// Waits for the handle and expects that it and all before it succeeded.
void expect_done(acp_handle_t handle);

// Waits for the handle and expects the code of its first failure and a message that holds every
// part.
void expect_failure(acp_handle_t handle, int code, const std::vector<std::string>& parts = {});

// Expects the code of this thread's last failed call, and a message that names this rank and its
// host and holds every part.
void expect_error(int code, const std::vector<std::string>& parts = {});

// An address in the form of the library's messages.
[[nodiscard]] std::string hexadecimal(acp_ga_t address);
[[nodiscard]] std::string hexadecimal_at(const void* address);

// A test that starts and ends with all ranks present, under a watchdog.
class RankedTest : public ::testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    // Sets the seconds until the watchdog ends the process; a longer test calls it first.
    static void allow_seconds(unsigned seconds);

    const int rank_ = acp_rank();
    const int procs_ = acp_procs();
};

}  // namespace acp::test
