// SPDX-License-Identifier: BSD-3-Clause
// Implements SignalFd.
#include "os/signal_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "os/system_error.hpp"

namespace acp::os {

namespace {

// Characters in place of pointers: the loader would have to relocate pointers, and their pages
// would no longer be shared between processes.
struct Name {
    int number;
    char abbreviation[12];
    char words[32];
};

// The signals that end a process unless it handles them, and those that a launcher passes on.
constexpr std::array<Name, 27> names = {{
    {SIGHUP, "SIGHUP", "hung up"},
    {SIGINT, "SIGINT", "interrupted"},
    {SIGQUIT, "SIGQUIT", "quit"},
    {SIGILL, "SIGILL", "illegal instruction"},
    {SIGTRAP, "SIGTRAP", "trace trap"},
    {SIGABRT, "SIGABRT", "aborted"},
    {SIGBUS, "SIGBUS", "bus error"},
    {SIGFPE, "SIGFPE", "arithmetic error"},
    {SIGKILL, "SIGKILL", "killed"},
    {SIGUSR1, "SIGUSR1", "user signal 1"},
    {SIGSEGV, "SIGSEGV", "segmentation fault"},
    {SIGUSR2, "SIGUSR2", "user signal 2"},
    {SIGPIPE, "SIGPIPE", "broken pipe"},
    {SIGALRM, "SIGALRM", "alarm clock"},
    {SIGTERM, "SIGTERM", "terminated"},
    {SIGCONT, "SIGCONT", "continued"},
    {SIGSTOP, "SIGSTOP", "stopped"},
    {SIGTSTP, "SIGTSTP", "stopped from the terminal"},
    {SIGTTIN, "SIGTTIN", "stopped reading the terminal"},
    {SIGTTOU, "SIGTTOU", "stopped writing to the terminal"},
    {SIGXCPU, "SIGXCPU", "CPU time limit exceeded"},
    {SIGXFSZ, "SIGXFSZ", "file size limit exceeded"},
    {SIGVTALRM, "SIGVTALRM", "virtual alarm clock"},
    {SIGPROF, "SIGPROF", "profiling timer"},
    {SIGIO, "SIGIO", "input or output possible"},
    {SIGPWR, "SIGPWR", "power failure"},
    {SIGSYS, "SIGSYS", "bad system call"},
}};

const Name* find(int signal) noexcept {
    const auto* found = std::find_if(names.begin(), names.end(),
                                     [&](const Name& name) { return name.number == signal; });
    return found == names.end() ? nullptr : found;
}

}  // namespace

void block_all_signals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

bool is_signal_ignored(int signal) noexcept {
    struct sigaction action {};

    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

Result<SignalFd> SignalFd::create(std::span<const int> signals) {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : signals) sigaddset(&wanted, signal);
    FileDescriptor descriptor(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor.is_open()) return system_failure("signalfd", errno, "");
    return SignalFd(std::move(descriptor));
}

std::optional<int> SignalFd::take() noexcept {
    signalfd_siginfo information{};
    const ssize_t bytes = read(descriptor_.get(), &information, sizeof information);
    if (bytes != static_cast<ssize_t>(sizeof information)) return std::nullopt;
    return static_cast<int>(information.ssi_signo);
}

std::string signal_name(int signal) {
    const Name* name = find(signal);
    return name == nullptr ? "signal " + std::to_string(signal) : name->abbreviation;
}

std::string signal_words(int signal) {
    const Name* name = find(signal);
    return name == nullptr ? "a real-time signal" : name->words;
}

void stop_this_process() noexcept {
    raise(SIGSTOP);
}

}  // namespace acp::os
