// SPDX-License-Identifier: BSD-3-Clause
// Two nodes of four cannot reach each other any more: all members of the team are refused in time, also those whose nodes reach all. A driver:
// the ranks are team_victim, one on each node. It notes the losses in the two nodes' segments, as their gateways do.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/death.hpp"
#include "node/loss.hpp"
#include "node/segment.hpp"
#include "os/file_descriptor.hpp"

#include "support/kill_driver.hpp"
#include "support/member_board.hpp"

namespace acp::test {
namespace {

class TeamCutTest : public KillDriver<MemberBoard> {};

// The descriptor of the node segment of a process, as a path.
std::string segment_of(pid_t process) {
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry.path(), gone)
                .string()
                .starts_with("/memfd:acp-node "))
            return entry.path();
    }
    return "";
}

os::FileDescriptor opened(const std::string& path, int flags) {
    return os::FileDescriptor(open(path.c_str(), flags | O_CLOEXEC));
}

// For a child of the driver: a segment is opened where the event of its gateway has the number that it has in the job. Returns what went wrong.
std::string note_loss(pid_t process, std::uint32_t node) {
    const std::string path = segment_of(process);
    auto looked = node::Segment::look(opened(path, O_RDONLY));
    if (!looked.is_ok()) return std::string(looked.failure().message());
    const std::uint32_t event = looked.value().control().gateway_event.load();
    if (event != 0) {
        const int number = static_cast<int>(event) - 1;
        const auto its = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
        const auto copy = static_cast<int>(syscall(SYS_pidfd_getfd, its, number, 0));
        if (copy < 0 || dup2(copy, number) < 0) return std::strerror(errno);
    }
    auto segment = node::Segment::open(opened(segment_of(process), O_RDWR));
    if (!segment.is_ok()) return std::string(segment.failure().message());
    if (!node::note_lost_node(segment.value(), node, {node::NodeFate::silent}))
        return "lost before";
    node::count_loss(segment.value());
    return "";
}

// The node of `process` has lost another one.
void lose(pid_t process, std::uint32_t node) {
    const pid_t child = fork();
    if (child == 0) {
        const std::string trouble = note_loss(process, node);
        std::fputs(trouble.c_str(), stderr);
        _exit(trouble.empty() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
}

TEST_F(TeamCutTest, members_that_reach_all_are_refused_when_two_others_cannot_reach_each_other) {
    const int trials = number_of("TEST_TRIALS", 5);
    for (int trial = 0; trial < trials && !HasFailure(); ++trial) {
        arm_watchdog(240, "a job whose nodes are cut off from each other");
        const auto board = Board<MemberBoard>::create();
        board->victim.store(nobody_killed, std::memory_order_relaxed);
        Job job(options_of(std::string(ACP_TEST_PROGRAM_DIR) + "/team_victim", member_ranks,
                           board.environment_entry()));
        await_work(*board, job);
        if (HasFatalFailure()) return;
        const int first = trial % member_ranks;
        const int second = (trial + 1 + trial / member_ranks) % member_ranks;
        SCOPED_TRACE("nodes " + std::to_string(first) + " and " + std::to_string(second));
        const std::int64_t struck_at_ns = now_ns();
        lose(board->ranks[first].process, static_cast<std::uint32_t>(second));
        lose(board->ranks[second].process, static_cast<std::uint32_t>(first));
        EXPECT_TRUE(job.wait_ended(kill_patience_ns).has_value())
            << job.output() << job.describe_living();
        for (int rank = 0; rank < member_ranks; ++rank) {
            const MemberNote& note = board->ranks[rank];
            EXPECT_STREQ(note.message, "") << "rank " << rank << "\n" << job.output();
            const std::int64_t took_ns =
                note.refused_at_ns.load(std::memory_order_relaxed) - struck_at_ns;
            EXPECT_GT(took_ns, 0) << "rank " << rank;
            EXPECT_LT(took_ns, 2 * second_ns) << "rank " << rank;
        }
    }
}

}  // namespace
}  // namespace acp::test
