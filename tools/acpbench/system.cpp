// SPDX-License-Identifier: BSD-3-Clause
// Processes, /proc, pages and the terminal. The only file of this program with system headers. Any
// thread.
#include "system.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <optional>
#include <spawn.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "os/process.hpp"
#include "os/terminal.hpp"

#include "common/guard.hpp"
#include "job.hpp"

namespace acp::bench {

namespace {

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
    std::vector<std::string> result = variables;
    for (std::string& text : os::environment()) {
        const std::string_view name = std::string_view(text).substr(0, text.find('=') + 1);
        bool is_replaced = false;
        for (const std::string& variable : variables) is_replaced |= variable.starts_with(name);
        if (!is_replaced) result.push_back(std::move(text));
    }
    return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

// A variable's value; nothing when it is not set.
std::optional<std::string> variable(std::string_view name) {
    for (const std::string& entry : os::environment()) {
        const std::size_t end = entry.find('=');
        if (std::string_view(entry).substr(0, end) == name && end != std::string::npos) {
            return entry.substr(end + 1);
        }
    }
    return std::nullopt;
}

// The value in kB of a line "Name:   123 kB" of a file under /proc; 0 when it is not there.
double kib_in(const std::string& path, std::string_view name) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(name)) return std::strtod(line.c_str() + name.size(), nullptr);
    }
    return 0;
}

// "pid (name) state ppid ...": field 1 is the state. The name may hold blanks and parentheses.
std::vector<std::string> stat_fields(int pid) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(in, text);
    std::vector<std::string> fields{std::to_string(pid)};
    const std::size_t end = text.rfind(')');
    if (end == std::string::npos) return {};
    std::istringstream rest(text.substr(end + 1));
    for (std::string field; rest >> field;) fields.push_back(field);
    return fields;
}

}  // namespace

Child::Child(const std::vector<std::string>& argv, const std::vector<std::string>& variables) {
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        give_up("cannot make a pipe: " + std::generic_category().message(errno));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<std::string> arguments = argv;
    std::vector<std::string> environment = environment_with(variables);
    const int error = posix_spawn(&pid_, argv.front().c_str(), &actions, nullptr,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    if (error != 0) {
        give_up("cannot start " + argv.front() + ": " + std::generic_category().message(error));
    }
    input_ = in[1];
    output_ = out[0];
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      pending_(std::move(other.pending_)) {}

Child::~Child() {
    if (pid_ > 0) wait();
    if (output_ >= 0) close(output_);
}

bool Child::read_line(std::string& line) {
    for (;;) {
        const std::size_t end = pending_.find('\n');
        if (end != std::string::npos) {
            line = pending_.substr(0, end);
            pending_.erase(0, end + 1);
            return true;
        }
        char buffer[4096];
        const ssize_t got = read(output_, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        pending_.append(buffer, static_cast<std::size_t>(got));
    }
}

void Child::close_input() {
    if (input_ >= 0) close(std::exchange(input_, -1));
}

int Child::wait() {
    close_input();
    for (std::string line; read_line(line);) {
    }
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void end_process(int code) {
    const int told = tool::finish_output(code);
    std::exit(told);  // NOLINT(concurrency-mt-unsafe): one thread of this program ends it
}

std::string own_path() {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) give_up("cannot read /proc/self/exe: " + error.message());
    return path.string();
}

std::string acprun_path() {
    const std::filesystem::path beside = std::filesystem::path(own_path()).parent_path() / "acprun";
    if (access(beside.c_str(), X_OK) == 0) return beside.string();
    std::istringstream folders(variable("PATH").value_or(""));
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::filesystem::path candidate = std::filesystem::path(folder) / "acprun";
        if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
    }
    give_up("acprun is neither beside " + own_path() + " nor in PATH");
}

double pss_kib(int pid) {
    return kib_in("/proc/" + std::to_string(pid) + "/smaps_rollup", "Pss:");
}

double huge_kib() {
    return kib_in("/proc/self/smaps_rollup", "AnonHugePages:");
}

std::uint64_t cpu_ns(int pid) {
    const std::string folder = "/proc/" + std::to_string(pid) + "/task";
    std::uint64_t total = 0;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator(folder, error)) {
        std::ifstream in(task.path() / "schedstat");
        std::uint64_t spent = 0;
        if (in >> spent) total += spent;
    }
    if (total > 0) return total;
    // a kernel without schedstat: whole ticks
    const std::vector<std::string> fields = stat_fields(pid);
    if (fields.size() < 14) return 0;
    const std::uint64_t ticks = std::stoull(fields[12]) + std::stoull(fields[13]);
    return ticks * 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
}

std::uint64_t own_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

int own_process_id() {
    return getpid();
}

int parent_of(int pid) {
    const std::vector<std::string> fields = stat_fields(pid);
    return fields.size() > 2 ? std::stoi(fields[2]) : 0;
}

void advise_huge_pages(void* address, std::uint64_t bytes, bool are_huge) {
    madvise(address, bytes,
            // the kernel may ignore this hint: huge_kib() reads the result
            are_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

bool is_terminal() {
    const std::optional<std::string> forwarded = variable("ACP_TERMINAL");
    return forwarded ? !forwarded->empty() && *forwarded != "0" : os::is_terminal(STDERR_FILENO);
}

bool may_colour() {
    return is_terminal() && variable("NO_COLOR").value_or("").empty();
}

void send_datagram(int fd, const os::SocketAddress& to, std::span<const std::byte> datagram) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(to.port);
    std::memcpy(&place.sin_addr, to.ip.data(), sizeof place.sin_addr);
    // One that is lost is sent again by who misses the answer.
    static_cast<void>(sendto(fd, datagram.data(), datagram.size(), 0,
                             reinterpret_cast<const sockaddr*>(&place), sizeof place));
}

std::int64_t receive_datagram(int fd, std::span<std::byte> datagram, os::SocketAddress& from) {
    sockaddr_in place{};
    socklen_t bytes = sizeof place;
    const ssize_t received = recvfrom(fd, datagram.data(), datagram.size(), MSG_DONTWAIT,
                                      reinterpret_cast<sockaddr*>(&place), &bytes);
    if (received < 0) return -1;
    from.family = 4;
    from.port = ntohs(place.sin_port);
    std::memcpy(from.ip.data(), &place.sin_addr, sizeof place.sin_addr);
    return received;
}

void sleep_ns(std::uint64_t duration_ns) {
    timespec rest{static_cast<time_t>(duration_ns / 1'000'000'000),
                  static_cast<long>(duration_ns % 1'000'000'000)};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
}

}  // namespace acp::bench
