// SPDX-License-Identifier: BSD-3-Clause
// clone(2) with CLONE_FILES and CLONE_FS. The child continues on a copy of the maker's stack, as
// after fork(2), but the C library does not know of it: so it uses no handlers of fork, and must not
// return from main.
#include "os/companion.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "os/child.hpp"

namespace acp::os {

namespace {

// The end signal, which the low byte of the flags names, is none. Without a stack, as of fork(2).
int clone_without_end_signal() noexcept {
    return static_cast<int>(syscall(SYS_clone, CLONE_FILES | CLONE_FS, 0, 0, 0, 0));
}

[[noreturn]] void run_companion(const char* name, int maker, const std::function<void()>& body) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != maker) _exit(EXIT_FAILURE);  // it ended before the line above
    prctl(PR_SET_NAME, name);
    body();
    _exit(EXIT_SUCCESS);
}

}  // namespace

Result<std::unique_ptr<Companion>> Companion::start(const char* name,
                                                    std::function<void()> body,
                                                    std::function<void()> on_end) {
    std::unique_ptr<Companion> companion(new Companion);
    Companion& made = *companion;
    const int maker = getpid();
    // The references are valid until process_ is set.
    auto started = Thread::start("acp-companion", [&, on_end = std::move(on_end), own = &made] {
        const int process = clone_without_end_signal();
        if (process == 0) run_companion(name, maker, body);
        // release: partner is the load below
        own->process_.store(process > 0 ? process : -errno, std::memory_order_release);
        own->process_.notify_all();
        if (process < 0) return;
        own->await_end();
        on_end();
    });
    if (!started.is_ok()) return std::move(started).failure();
    made.thread_ = std::move(started).value();
    made.process_.wait(0, std::memory_order_acquire);
    const int process = made.process_.load(std::memory_order_acquire);
    if (process > 0) return companion;
    made.is_reaped_ = true;
    return fork_failure(-process, name);
}

void Companion::await_end() noexcept {
    siginfo_t info{};
    const auto id = static_cast<id_t>(process());
    // WNOWAIT: the process id stays its own until the mutex is held. An error: a wait of the
    // program with __WALL has reaped it.
    int failed = 0;
    while ((failed = waitid(P_PID, id, &info, WEXITED | WNOWAIT | __WALL)) != 0 && errno == EINTR)
        continue;
    const std::lock_guard lock(mutex_);
    is_reaped_ = true;
    if (failed == 0) waitpid(process(), nullptr, __WALL);
}

Companion::~Companion() {
    {
        const std::lock_guard lock(mutex_);
        if (!is_reaped_) kill(process(), SIGKILL);
    }
    thread_.join();
}

}  // namespace acp::os
