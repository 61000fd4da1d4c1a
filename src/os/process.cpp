// SPDX-License-Identifier: BSD-3-Clause
// Answers questions about processes.
#include "os/process.hpp"

#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "os/system_error.hpp"
#include "os/text_file.hpp"
#include "os/thread.hpp"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434  // its number on every architecture
#endif

namespace acp::os {

using base::Code;

unsigned own_user() noexcept {
    return geteuid();
}

int own_pid() noexcept {
    return getpid();
}

std::string host_name() {
    char name[HOST_NAME_MAX + 1] = {};
    if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown-host";
    return name;
}

std::string executable_name() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) return "unknown";
    const std::string_view whole(path, static_cast<std::size_t>(length));
    return std::string(whole.substr(whole.rfind('/') + 1));
}

std::vector<std::string> environment() {
    std::vector<std::string> entries;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        entries.emplace_back(*entry);
    }
    return entries;
}

Result<FileDescriptor> open_process(int pid) {
    if (pid <= 0) {
        return Status(Code::argument, "process id " + std::to_string(pid) + " is not positive");
    }
    const long descriptor = syscall(SYS_pidfd_open, pid, 0);
    if (descriptor >= 0) return FileDescriptor(static_cast<int>(descriptor));
    if (errno == ESRCH) {
        return Status(Code::peer, "process " + std::to_string(pid) + " no longer exists");
    }
    return system_failure("pidfd_open", errno, "process " + std::to_string(pid));
}

namespace {

// Whether a thread exits or dies of a signal. Its stat file is "PID (name) STATE PPID PGRP SESSION
// TTY TPGID FLAGS ...".
bool has_begun_to_end(const std::string& folder) {
    constexpr std::uint64_t ending_flags = 0x4 | 0x400;  // PF_EXITING, PF_SIGNALED
    constexpr int fields_before_flags = 6;
    const auto stat = read_text_file(folder + "/stat");
    if (!stat) return true;  // the thread has ended since it was listed
    std::size_t at = stat->rfind(')');
    for (int field = 0; field <= fields_before_flags && at != std::string::npos; ++field) {
        at = stat->find(' ', at + 1);
    }
    if (at == std::string::npos) return false;
    return (leading_number(std::string_view(*stat).substr(at)).value_or(0) & ending_flags) != 0;
}

// Whether SIGKILL is pending for a thread, as it is for each thread of a process that was killed.
bool is_killed(const std::string& folder) {
    constexpr std::uint64_t kill_bit = std::uint64_t{1} << (SIGKILL - 1);
    constexpr std::string_view key = "\nSigPnd:\t";
    const auto status = read_text_file(folder + "/status");
    const std::size_t line = status ? status->find(key) : std::string::npos;
    if (line == std::string::npos) return false;
    std::uint64_t waiting = 0;
    std::from_chars(status->data() + line + key.size(), status->data() + status->size(), waiting,
                    16);
    return (waiting & kill_bit) != 0;
}

// Tests the state again after the signals, because a thread that has just taken its SIGKILL no
// longer has it pending and is about to begin to end.
bool is_thread_ending(const std::string& folder) {
    return has_begun_to_end(folder) || is_killed(folder) || has_begun_to_end(folder);
}

}  // namespace

std::optional<bool> is_ending(int pid) {
    std::error_code error;
    std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task", error);
    bool is_any = false;
    while (!error && threads != std::filesystem::directory_iterator()) {
        if (!is_thread_ending(threads->path().string())) return false;
        is_any = true;
        threads.increment(error);
    }
    return is_any && !error ? std::optional(true) : std::nullopt;
}

bool is_uninterruptible(int pid) {
    std::error_code error;
    std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task", error);
    while (!error && threads != std::filesystem::directory_iterator()) {
        const auto stat = read_text_file(threads->path().string() + "/stat");
        const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
        if (name_end != std::string::npos && stat->substr(name_end + 2, 1) == "D") return true;
        threads.increment(error);
    }
    return bool(error) && error != std::errc::no_such_file_or_directory &&
           error != std::errc::no_such_process;
}

bool is_last_thread() noexcept {
    try {
        const std::string own = std::to_string(syscall(SYS_gettid));
        std::error_code error;
        std::filesystem::directory_iterator threads("/proc/self/task", error);
        bool is_any = false;
        while (!error && threads != std::filesystem::directory_iterator()) {
            const std::filesystem::path& thread = threads->path();
            const std::string number = thread.filename().string();
            const bool is_of_program = number != own && !is_own_thread(std::atoi(number.c_str()));
            if (is_of_program && !has_begun_to_end(thread.string())) return false;
            is_any = true;
            threads.increment(error);
        }
        return is_any && !error;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

bool is_stopped(int pid) {
    const auto stat = read_text_file("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
    if (name_end == std::string::npos || name_end + 2 >= stat->size()) return false;
    const char state = (*stat)[name_end + 2];
    return state == 'T' || state == 't';
}

bool has_exited(int pidfd) noexcept {
    pollfd look{pidfd, POLLIN, 0};
    int outcome = 0;
    do {
        outcome = poll(&look, 1, 0);
    } while (outcome < 0 && errno == EINTR);
    return outcome == 1 && (look.revents & POLLIN) != 0;
}

bool call_in_forked_child(void (*callback)()) noexcept {
    return pthread_atfork(nullptr, nullptr, callback) == 0;
}

void end_by_abort() noexcept {
    if (ftrylockfile(stdout) == 0) {
        (void)fflush_unlocked(stdout);
        funlockfile(stdout);
    }
    std::abort();
}

}  // namespace acp::os
