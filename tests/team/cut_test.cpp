// SPDX-License-Identifier: BSD-3-Clause
// Two nodes of four lose each other: calls of all members of the team fail in time, also on nodes
// that reach all others. A driver: the ranks are team_victim, one on each node. It records the
// losses in the segments of the two nodes, as their gateways do.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "node/death.hpp"
#include "node/loss.hpp"
#include "node/segment.hpp"
#include "os/file_descriptor.hpp"

#include "support/kill_driver.hpp"
#include "support/member_board.hpp"

namespace acp::test {
namespace {

class TeamCutTest : public KillDriver<MemberBoard> {};

// The path by which the node segment of a process can be opened.
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

// Runs in a child of the driver: a segment can be opened only if the event of its gateway has the
// same descriptor number as in the job.
base::Result<node::Segment> open_segment(pid_t process) {
    const std::string path = segment_of(process);
    auto looked = node::Segment::look(opened(path, O_RDONLY));
    if (!looked.is_ok()) return std::move(looked).failure();
    const std::uint32_t event = looked.value().control().gateway_event.load();
    if (event != 0) {
        const int number = static_cast<int>(event) - 1;
        const auto its = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
        const auto copy = static_cast<int>(syscall(SYS_pidfd_getfd, its, number, 0));
        if (copy < 0 || dup2(copy, number) < 0)
            return base::Status(base::Code::system, std::strerror(errno));
    }
    return node::Segment::open(opened(path, O_RDWR));
}

// A child that records, on request, in the segment of the node of `process` that the node has lost
// another one.
class Cut {
public:
    Cut(pid_t process, std::uint32_t node) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0) return;
        child_ = fork();
        if (child_ == 0) note_loss(process, node);
        close(ends_[1]);
        char is_ready = 0;
        is_ready_ = read(ends_[0], &is_ready, 1) == 1;
    }

    Cut(const Cut&) = delete;
    Cut& operator=(const Cut&) = delete;

    ~Cut() { end(); }

    [[nodiscard]] bool is_ready() const { return is_ready_; }

    void strike() const { (void)shutdown(ends_[0], SHUT_WR); }

    // Waits for the child. Returns whether it has recorded the loss.
    bool end() {
        if (child_ < 0) return false;
        close(ends_[0]);
        int status = -1;
        return waitpid(std::exchange(child_, -1), &status, 0) > 0 && status == 0;
    }

private:
    [[noreturn]] void note_loss(pid_t process, std::uint32_t node) const {
        close(ends_[0]);
        auto segment = open_segment(process);
        if (!segment.is_ok()) {
            std::fputs(std::string(segment.failure().message()).c_str(), stderr);
            _exit(1);
        }
        char end = 1;
        if (write(ends_[1], &end, 1) != 1 || read(ends_[1], &end, 1) != 0) _exit(1);
        // False: the rank has already learned of it from the other node's gateway.
        if (node::note_lost_node(segment.value(), node, {node::NodeFate::silent}))
            node::count_loss(segment.value());
        _exit(0);
    }

    std::array<int, 2> ends_{};
    pid_t child_ = -1;
    bool is_ready_ = false;
};

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
        Cut one(board->ranks[first].process, static_cast<std::uint32_t>(second));
        Cut other(board->ranks[second].process, static_cast<std::uint32_t>(first));
        ASSERT_TRUE(one.is_ready() && other.is_ready());
        const std::int64_t struck_at_ns = now_ns();
        one.strike();
        other.strike();
        EXPECT_TRUE(one.end() && other.end());
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
