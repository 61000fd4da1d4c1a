// SPDX-License-Identifier: BSD-3-Clause
// A node for tests: its segment, with any number of slots, and child processes that exit or are
// killed. Knows no port. Children are forked before the test starts threads.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/config.hpp"
#include "node/mailbox_layout.hpp"
#include "node/segment.hpp"

#include "claims/library_claims.hpp"

namespace acp::local::test {

struct Kind {
    const char* name;
    base::IntraNode intranode;
    base::MailboxKind mailbox;
};

inline constexpr Kind all_kinds[] = {
    {"mpsc", base::IntraNode::mailbox, base::MailboxKind::mpsc},
    {"pairs", base::IntraNode::mailbox, base::MailboxKind::pairs},
    {"bitmap", base::IntraNode::mailbox, base::MailboxKind::bitmap},
    {"udp", base::IntraNode::udp, base::MailboxKind::mpsc},
};

inline std::string name_of(const testing::TestParamInfo<Kind>& info) {
    return info.param.name;
}

inline node::Segment make_segment(const Kind& kind,
                                  std::uint32_t procs,
                                  std::uint32_t datagram_bytes) {
    node::Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = procs;
    shape.starter_bytes = 4 * 1024 * 1024;
    shape.mailbox_kind = static_cast<std::uint32_t>(kind.mailbox);
    shape.intranode = static_cast<std::uint32_t>(kind.intranode);
    shape.datagram_bytes = datagram_bytes;
    shape.job_id = 0x1234'5678'9abc'def0;
    auto made = node::Segment::create(shape, claims::library_claims());
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    node::Segment segment = std::move(made).value();
    for (std::uint32_t slot = 0; slot < procs; ++slot) {
        segment.slot(slot).state.store(static_cast<std::uint32_t>(node::SlotState::joined),
                                       std::memory_order_relaxed);
        segment.slot(slot).pid.store(static_cast<std::uint32_t>(::getpid()),
                                     std::memory_order_relaxed);
    }
    return segment;
}

// A forked process that runs a function and exits with what it returns.
class Child {
public:
    explicit Child(const std::function<int()>& body) : pid_(::fork()) {
        if (pid_ == 0) {
            ::alarm(100);  // limits its life if the test hangs
            ::_exit(body());
        }
    }

    Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

    Child& operator=(Child&&) = delete;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    ~Child() {
        if (pid_ > 0) {
            (void)kill();
        }
    }

    [[nodiscard]] pid_t pid() const { return pid_; }

    void send(int signal) const { ::kill(pid_, signal); }

    // Waits for its end. Returns its wait status.
    int join() {
        int status = -1;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return status;
    }

    int kill() {
        send(SIGKILL);
        return join();
    }

private:
    pid_t pid_;
};

}  // namespace acp::local::test
