// SPDX-License-Identifier: BSD-3-Clause
// The end of children: notices it and causes it.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include "base/parse.hpp"
#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"
#include "os/text_file.hpp"

namespace acp::os {

namespace {

std::uint32_t raw_status(const siginfo_t& information) noexcept {
    const auto status = static_cast<std::uint32_t>(information.si_status);
    switch (information.si_code) {
        case CLD_EXITED:
            return (status & 0xffU) << 8U;
        case CLD_DUMPED:
            return status | 0x80U;
        default:
            return status;
    }
}

void append_numbers(const std::string& text, std::vector<int>& numbers) {
    std::string_view rest = text;
    while (const auto number = leading_number(rest)) {
        numbers.push_back(static_cast<int>(*number));
        const std::size_t blank = rest.find(' ');
        if (blank == std::string_view::npos) return;
        rest.remove_prefix(blank + 1);
    }
}

// The names in a directory of /proc. Skips entries that vanish while it reads.
std::vector<std::string> entries_of(const std::string& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        names.push_back(entry->path().filename().string());
    }
    return names;
}

// The parent's process id: the second field after the name in parentheses. 0 when the process is
// gone.
int parent_of(const std::string& pid) {
    const auto text = read_text_file("/proc/" + pid + "/stat");
    const std::size_t name_end = text ? text->rfind(')') : std::string::npos;
    if (name_end == std::string::npos || text->size() < name_end + 4) return 0;
    return static_cast<int>(
        leading_number(std::string_view(*text).substr(name_end + 4)).value_or(0));
}

bool is_child(int pid) noexcept {
    siginfo_t information{};
    return waitid(P_PID, static_cast<id_t>(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0;
}

std::vector<int> listed_children() {
    std::vector<int> found;
    const std::string tasks = "/proc/self/task";
    bool is_told = true;
    for (const std::string& task : entries_of(tasks)) {
        std::string path = tasks;
        const auto text = read_text_file(path.append("/").append(task).append("/children"));
        is_told = is_told && text.has_value();
        if (text) append_numbers(*text, found);
    }
    if (is_told) return found;
    found.clear();
    // this kernel does not list children: search all processes
    for (const std::string& name : entries_of("/proc")) {
        if (name.front() >= '1' && name.front() <= '9' && parent_of(name) == getpid()) {
            found.push_back(std::stoi(name));
        }
    }
    return found;
}

// The children, including those that have ended and are not reaped; their process ids stay valid
// until this process reaps them. A /proc of another pid namespace lists numbers that are not our
// children: those are left out.
std::vector<int> children() {
    std::vector<int> found = listed_children();
    std::erase_if(found, [](int pid) { return !is_child(pid); });
    return found;
}

void wait_for_an_end(std::uint64_t timeout_ns) noexcept {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    const timespec timeout{static_cast<time_t>(timeout_ns / base::nanoseconds_per_second),
                           static_cast<long>(timeout_ns % base::nanoseconds_per_second)};
    sigtimedwait(&child, nullptr, &timeout);
}

}  // namespace

std::optional<EndedChild> ended_child(int pid) noexcept {
    siginfo_t information{};
    const idtype_t kind = pid == 0 ? P_ALL : P_PID;
    const int outcome =
        waitid(kind, static_cast<id_t>(pid), &information, WEXITED | WNOHANG | WNOWAIT);
    if (outcome != 0 || information.si_pid == 0) return std::nullopt;
    return EndedChild{information.si_pid, WaitStatus(raw_status(information))};
}

WaitStatus wait_for_end(int pid) noexcept {
    siginfo_t information{};
    while (waitid(P_PID, static_cast<id_t>(pid), &information, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    return WaitStatus(raw_status(information));
}

void reap(int pid) noexcept {
    waitpid(pid, nullptr, WNOHANG);
}

bool has_children() noexcept {
    siginfo_t information{};
    return waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void send_signal(int pid, int signal) noexcept {
    const bool is_leader = getpgid(pid) == pid;
    kill(is_leader ? -pid : pid, signal);
}

std::size_t signal_children(int signal) {
    const std::vector<int> all = children();
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](int pid) { return kill(pid, signal) == 0; }));
}

bool is_any_child_uninterruptible() {
    const std::vector<int> all = children();
    return std::any_of(all.begin(), all.end(), is_uninterruptible);
}

bool end_all_children(std::uint64_t deadline_ns) {
    // how long to wait for children that /proc does not list
    constexpr std::uint64_t unlisted_ns = 1'000'000'000;
    constexpr std::uint64_t look_again_ns = 100'000'000;
    const std::uint64_t deadline_max_ns = deadline_ns + starved_ns;
    std::uint64_t unlisted_until_ns = deadline_ns;
    while (has_children()) {
        const bool is_any_signalled = signal_children(SIGKILL) != 0;
        while (const auto ended = ended_child()) reap(ended->pid);
        const std::uint64_t now = now_ns();
        if (!has_children()) return true;
        if (is_any_signalled) {
            const bool is_put_off =
                now >= deadline_ns && now < deadline_max_ns && !is_any_child_uninterruptible();
            if (is_put_off) deadline_ns = now + look_again_ns;
            unlisted_until_ns = deadline_ns;
        } else {
            unlisted_until_ns = std::min(unlisted_until_ns, now + unlisted_ns);
        }
        if (now >= unlisted_until_ns) return false;
        wait_for_an_end(unlisted_until_ns - now);
    }
    return true;
}

}  // namespace acp::os
