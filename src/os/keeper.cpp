// SPDX-License-Identifier: BSD-3-Clause
// The keeper (a subreaper): the original process, which continues in a child and outlives that
// child just long enough to end the processes that the child left.
#include <array>
#include <cerrno>
#include <csignal>
#include <span>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/poll_set.hpp"
#include "os/process.hpp"
#include "os/signal_fd.hpp"
#include "os/system_error.hpp"

#ifndef SYS_close_range
#define SYS_close_range 436  // its number on every architecture
#endif

namespace acp::os {

namespace {

// how long to wait for processes that do not die
constexpr std::uint64_t orphan_patience_ns = 10'000'000'000;
// how long a child may live after its starter has ended
constexpr std::int64_t abandoned_ns = 5'000'000'000;
// length of a thread's name, with its terminating zero
constexpr std::size_t name_bytes = 16;

// Closes all descriptors: another process may wait until the other ends of the child's pipes are
// closed.
void close_descriptors() noexcept {
    if (syscall(SYS_close_range, 0U, ~0U, 0U) == 0) return;
    const long all = sysconf(_SC_OPEN_MAX);  // before Linux 5.9
    for (int descriptor = 0; descriptor < all; ++descriptor) close(descriptor);
}

[[noreturn]] void end_as(WaitStatus status) noexcept {
    if (status.is_exit()) _exit(status.exit_code());
    prctl(PR_SET_DUMPABLE, 0);  // the child wrote the core file, if there is one
    signal(status.signal(), SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, status.signal());
    raise(status.signal());
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    _exit(status.shell_code());
}

// Waits until the child or the parent has ended, and passes SIGTERM on to the child.
void wait_and_pass_on(int child, int child_life, int parent_life) noexcept {
    constexpr std::array<int, 1> passed{SIGTERM};
    auto signals = SignalFd::create(passed);
    const std::array<int, 3> any{child_life, parent_life,
                                 signals.is_ok() ? signals.value().fd() : -1};
    for (;;) {
        if (!wait_readable(any, -1)) continue;
        bool was_asked = false;
        while (signals.is_ok() && signals.value().take()) was_asked = true;
        if (!was_asked) return;
        send_signal(child, SIGTERM);
    }
}

// Waits until the child has ended. If the process that started this one ends first, the child must
// end within abandoned_ns; then it is killed, for example because it is stopped. Without pidfd
// (before Linux 5.3) returns at once, and the caller waits for the end alone.
void wait_for_end_of_either(int child, int parent) noexcept {
    const auto child_life = open_process(child);
    const auto parent_life = open_process(parent);
    if (!child_life.is_ok()) return;
    const int end = child_life.value().get();
    if (getppid() == parent) {  // else the parent has ended already
        if (!parent_life.is_ok()) return;
        wait_and_pass_on(child, end, parent_life.value().get());
    }
    if (!wait_readable(std::span(&end, 1), abandoned_ns)) send_signal(child, SIGKILL);
}

[[noreturn]] void keep(int child, int parent) {
    prctl(PR_SET_PDEATHSIG, SIGCONT);  // if this process is stopped when its parent ends
    close_descriptors();
    wait_for_end_of_either(child, parent);
    const WaitStatus status = wait_for_end(child);
    end_all_children(now_ns() + orphan_patience_ns);
    end_as(status);
}

}  // namespace

Status leave_keeper_behind(const char* name) {
    std::array<char, name_bytes> own_name{};
    prctl(PR_GET_NAME, own_name.data());
    if (auto status = adopt_orphans(); !status.is_ok()) return status;
    const int keeper = getpid();
    const int parent = getppid();
    prctl(PR_SET_NAME, name);  // set before the fork: no process sees two of the old name
    const int child = fork();
    if (child > 0) keep(child, parent);
    const int error = errno;
    prctl(PR_SET_NAME, own_name.data());
    if (child < 0) return fork_failure(error, name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(128 + SIGKILL);  // the keeper ended before the line above
    return {};
}

}  // namespace acp::os
