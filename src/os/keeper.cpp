// SPDX-License-Identifier: BSD-3-Clause
// The keeper: what stays behind of a process that goes on in a child, and outlives it just long enough to end
// whoever it left.
#include <array>
#include <cerrno>
#include <csignal>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/system_error.hpp"

#ifndef SYS_close_range
#define SYS_close_range 436  // the same number on every architecture
#endif

namespace acp::os {

namespace {

constexpr std::uint64_t patience_ns = 10'000'000'000;  // with processes that do not die
constexpr std::size_t name_bytes = 16;                 // of a thread, with its end

// Somebody may wait for the other ends of what the child closes.
void close_descriptors() noexcept {
    if (syscall(SYS_close_range, 0U, ~0U, 0U) == 0) return;
    const long all = sysconf(_SC_OPEN_MAX);  // before Linux 5.9
    for (int descriptor = 0; descriptor < all; ++descriptor) close(descriptor);
}

[[noreturn]] void end_as(WaitStatus status) noexcept {
    if (status.is_exit()) _exit(status.exit_code());
    prctl(PR_SET_DUMPABLE, 0);  // the child left the core file, if any
    signal(status.signal(), SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, status.signal());
    raise(status.signal());
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    _exit(status.shell_code());
}

[[noreturn]] void keep(int child) {
    close_descriptors();
    const WaitStatus status = wait_for_end(child);
    end_all_children(now_ns() + patience_ns);
    end_as(status);
}

}  // namespace

Status leave_keeper_behind(const char* name) {
    std::array<char, name_bytes> own_name{};
    prctl(PR_GET_NAME, own_name.data());
    if (auto status = adopt_orphans(); !status.is_ok()) return status;
    const int keeper = getpid();
    prctl(PR_SET_NAME, name);  // before the child is there: nobody sees two of its name
    const int child = fork();
    if (child > 0) keep(child);
    const int error = errno;
    prctl(PR_SET_NAME, own_name.data());
    if (child < 0) return system_failure("fork", error, name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(128 + SIGKILL);  // it ended before the line above
    return {};
}

}  // namespace acp::os
