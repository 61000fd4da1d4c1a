// SPDX-License-Identifier: BSD-3-Clause
// Starts and measures streams.
#include "nodes/stream_job.hpp"

#include <ctime>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sched.h>

#include "support/clock.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t patience_ns = 60 * second_ns;

JobOptions job_options(int ranks, const std::string& faults, const std::string& board_entry) {
    JobOptions job;
    job.ranks = ranks;
    job.launcher = {"--nodes", std::to_string(ranks), "--starter-size", "16M"};
    job.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/nodes_stream"};
    // Acpstat shows the agents' gateways.
    job.environment = {board_entry, "ACP_FAULT=" + faults, "ACP_GATEWAY=agent"};
    return job;
}

}  // namespace

StreamJob::StreamJob(int ranks, const std::string& faults)
    : ranks_(ranks),
      board_(Board<StreamBoard>::create()),
      job_(job_options(ranks, faults, board_.environment_entry())) {}

std::vector<std::uint64_t> StreamJob::bytes_now() const {
    std::vector<std::uint64_t> bytes;
    for (int rank = 1; rank < ranks_; ++rank) {
        bytes.push_back(board_->streams[rank].bytes.load(std::memory_order_relaxed));
    }
    return bytes;
}

void StreamJob::warm_up(std::uint64_t copies) {
    const std::int64_t deadline = now_ns() + patience_ns;
    for (int rank = 1; rank < ranks_; ++rank) {
        const auto& bytes = board_->streams[rank].bytes;
        while (bytes.load(std::memory_order_relaxed) < copies * stream_copy_bytes) {
            ASSERT_LT(now_ns(), deadline) << "the stream of rank " << rank << " does not flow:\n"
                                          << job_.output();
            sched_yield();
        }
    }
}

std::vector<double> StreamJob::measure(std::int64_t time_ns) {
    const std::int64_t start = now_ns();
    const std::vector<std::uint64_t> before = bytes_now();
    const timespec time = {time_ns / second_ns, time_ns % second_ns};
    nanosleep(&time, nullptr);  // lint: sleep is the subject
    const std::vector<std::uint64_t> after = bytes_now();
    const auto seconds = static_cast<double>(now_ns() - start) / static_cast<double>(second_ns);
    std::vector<double> rates;
    for (std::size_t stream = 0; stream < before.size(); ++stream) {
        rates.push_back(static_cast<double>(after[stream] - before[stream]) / seconds);
    }
    return rates;
}

std::uint64_t StreamJob::receive_drops() {
    JobOptions look;
    look.is_launched = false;
    look.program = {std::string(ACP_TEST_BIN_DIR) + "/acpstat", "--json",
                    std::to_string(board_->streams[0].process.load(std::memory_order_relaxed))};
    const JobResult result = run_job(look);
    const auto shown = nlohmann::json::parse(result.output, nullptr, false);
    EXPECT_EQ(result.code, 0) << result.output;
    if (shown.is_discarded()) {
        ADD_FAILURE() << "acpstat --json shows no JSON:\n" << result.output;
        return 0;
    }
    std::uint64_t drops = 0;
    for (const auto& node : shown.at("nodes")) {
        drops += node.at("receive_drops").get<std::uint64_t>();
    }
    return drops;
}

void StreamJob::expect_good_end() {
    board_->may_end.store(1, std::memory_order_relaxed);
    EXPECT_EQ(job_.wait_ended(patience_ns), 0) << job_.output();
    // Agents end after acprun, and their CPU time is counted when they have been waited for.
    EXPECT_TRUE(job_.wait_gone(patience_ns)) << job_.describe_living();
    static_cast<void>(job_.wait_ended(0));
    for (int rank = 1; rank < ranks_; ++rank) {
        EXPECT_EQ(board_->streams[rank].failures.load(std::memory_order_relaxed), 0U)
            << "rank " << rank << ":\n"
            << job_.output();
    }
}

}  // namespace acp::test
