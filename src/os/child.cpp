// SPDX-License-Identifier: BSD-3-Clause
// Starts children: the steps from fork to exec.
#include "os/child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/cgroup.hpp"
#include "os/cpu.hpp"
#include "os/system_error.hpp"
#include "os/text_file.hpp"

namespace acp::os {

namespace {

constexpr int code_not_found = 127;
constexpr int code_not_runnable = 126;

// A list of strings in the form that execve takes.
class PointerList {
public:
    explicit PointerList(const std::vector<std::string>& strings) {
        pointers_.reserve(strings.size() + 1);
        for (const std::string& text : strings)
            pointers_.push_back(const_cast<char*>(text.c_str()));
        pointers_.push_back(nullptr);
    }

    [[nodiscard]] char* const* data() const noexcept { return pointers_.data(); }

private:
    std::vector<char*> pointers_;
};

[[noreturn]] void fail(const ChildPlan& plan, int error) {
    if (plan.failures >= 0) {
        const ExecFailure failure{plan.number, error};
        // A record is smaller than PIPE_BUF: it is written whole or, if its reader has ended, not
        // at all.
        const ssize_t ignored = write(plan.failures, &failure, sizeof failure);
        static_cast<void>(ignored);
    }
    _exit(error == ENOENT ? code_not_found : code_not_runnable);
}

// Sets the child's standard streams. A source may itself be 0, 1 or 2, so all sources are first
// moved out of the way.
void place_streams(const ChildPlan& plan) {
    std::array<int, 3> sources{plan.input, plan.output, plan.error};
    for (int& source : sources) {
        if (source >= 0 && source <= 2) source = fcntl(source, F_DUPFD_CLOEXEC, 3);
    }
    for (int stream = 0; stream < 3; ++stream) {
        const int source = sources[static_cast<std::size_t>(stream)];
        if (source >= 0 && dup2(source, stream) < 0) fail(plan, errno);
    }
}

// Sets a soft limit that was in force before, and so lies within the hard limit: it cannot fail.
void set_soft_limit(int resource, std::uint64_t value) {
    rlimit limit{};
    const auto which = static_cast<decltype(RLIMIT_CORE)>(resource);
    if (getrlimit(which, &limit) != 0) return;
    limit.rlim_cur = value;
    setrlimit(which, &limit);
}

void set_limits(const ChildPlan& plan) {
    if (plan.descriptors_max != 0) set_soft_limit(RLIMIT_NOFILE, plan.descriptors_max);
    if (plan.core_bytes) set_soft_limit(RLIMIT_CORE, *plan.core_bytes);
}

void hear_signals() {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Calls execve; like execvp, it starts a shell for a script that does not name its interpreter.
void run_program(const std::string& path, char* const* arguments, char* const* environment) {
    execve(path.c_str(), arguments, environment);
    if (errno != ENOEXEC) return;
    std::array<char, 4> start{};
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t bytes = read(file.get(), start.data(), start.size());
    if (bytes == 4 && start == std::array<char, 4>{'\x7f', 'E', 'L', 'F'}) {
        errno = ENOEXEC;  // a program for another machine
        return;
    }
    std::vector<char*> words{const_cast<char*>("sh"), const_cast<char*>(path.c_str())};
    for (char* const* word = arguments + 1; *word != nullptr; ++word) words.push_back(*word);
    words.push_back(nullptr);
    execve("/bin/sh", words.data(), environment);
}

[[noreturn]] void become(const ChildPlan& plan,
                         int parent,
                         char* const* arguments,
                         char* const* environment) {
    if (plan.dies_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(128 + SIGKILL);  // the parent ended before the line above
    }
    if (plan.leads_group) setpgid(0, 0);
    place_streams(plan);
    for (const int descriptor : plan.inherited) {
        if (fcntl(descriptor, F_SETFD, 0) != 0) fail(plan, errno);
    }
    if (plan.nth_cpu != any_cpu && !pin_to_cpu(plan.nth_cpu).is_ok()) fail(plan, EINVAL);
    set_limits(plan);
    if (plan.hears_signals) hear_signals();
    run_program(plan.path, arguments, environment);
    fail(plan, errno);
}

std::string process_limits() {
    rlimit limit{};
    std::string text = "limits: RLIMIT_NPROC ";
    const bool is_known = getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    text += is_known ? std::to_string(limit.rlim_cur) : "unlimited";
    for (const CgroupDirectory& directory : cgroup_directories("pids")) {
        const auto content = read_text_file(directory.path + "/pids.max");
        const auto most = content ? leading_number(*content) : std::nullopt;
        if (most) text += ", " + directory.path + "/pids.max " + std::to_string(*most);
    }
    if (const auto content = read_text_file("/proc/sys/kernel/pid_max")) {
        if (const auto most = leading_number(*content)) {
            text += ", kernel.pid_max " + std::to_string(*most);
        }
    }
    return text + " (ulimit -u shows and sets the first)";
}

}  // namespace

Status fork_failure(int error, const std::string& name) {
    return system_failure("fork", error, error == EAGAIN ? process_limits() : name);
}

Result<int> start_child(const ChildPlan& plan) {
    const PointerList arguments(plan.arguments);
    const PointerList environment(plan.environment);
    const int parent = getpid();
    const int pid = fork();
    if (pid == 0) become(plan, parent, arguments.data(), environment.data());
    if (pid < 0) return fork_failure(errno, plan.path);
    // Parent and child both set the group, so that it exists for both after this point. Fails if
    // the child has already run exec.
    if (plan.leads_group) setpgid(pid, pid);
    return pid;
}

Status adopt_orphans() {
    // if SIGCHLD were ignored, as some parents leave it, the kernel would reap children itself
    signal(SIGCHLD, SIG_DFL);
    siginfo_t unused{};
    const int waited = waitid(P_ALL, 0, &unused, WEXITED | WNOHANG | WNOWAIT);
    if (waited != 0 && errno != ECHILD) {
        return system_failure("waitid", errno,
                              "which tells how ranks end; the sandbox this runs in must allow it");
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) return {};
    return system_failure("prctl", errno, "PR_SET_CHILD_SUBREAPER");
}

}  // namespace acp::os
