// SPDX-License-Identifier: BSD-3-Clause
// Questions about processes.
#include "os/process.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <poll.h>
#include <pthread.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/system_error.hpp"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434  // the same number on every architecture
#endif

namespace acp::os {

using base::Code;

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
    std::abort();
}

}  // namespace acp::os
