// SPDX-License-Identifier: BSD-3-Clause
// A forked child for tests: it runs a function and ends without running the parent's exit handlers;
// it is killed and reaped with the object. For tests that fork before they start threads.
#pragma once

#include <cerrno>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace acp::test {

class ChildProcess {
public:
    // body's result is the exit code.
    template <typename Body>
    explicit ChildProcess(Body body) : pid_(fork()) {
        if (pid_ == 0) _exit(body());
        EXPECT_GT(pid_, 0) << "fork failed";
    }

    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    ~ChildProcess() {
        if (pid_ > 0) {
            send(SIGKILL);
            wait();
        }
    }

    [[nodiscard]] int pid() const noexcept { return pid_; }

    void send(int signal) const noexcept {
        if (pid_ > 0) kill(pid_, signal);
    }

    // Blocks until the child has ended and leaves it a zombie.
    void wait_for_zombie() const noexcept {
        siginfo_t info{};
        while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 &&
               errno == EINTR) {
        }
    }

    // Blocks until the child has ended and reaps it; the status of waitpid.
    int wait() noexcept {
        int status = 0;
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return status;
    }

    // wait(), as exit code; 128 + signal when killed.
    int exit_code() noexcept {
        const int status = wait();
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    pid_t pid_;
};

}  // namespace acp::test
