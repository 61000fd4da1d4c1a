// SPDX-License-Identifier: BSD-3-Clause
// An event is an eventfd.
#include "os/event.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/pipe.hpp"
#include "os/system_error.hpp"

namespace acp::os {

Result<Event> Event::create() {
    FileDescriptor descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!descriptor.is_open()) return system_failure("eventfd", errno, "");
    return Event(std::move(descriptor));
}

bool is_event(int fd) noexcept {
    // Files, pipes and sockets have a type; an eventfd has none.
    struct stat what {};

    return fstat(fd, &what) == 0 && (what.st_mode & S_IFMT) == 0;
}

bool signal_event(int fd) noexcept {
    if (!is_event(fd)) return false;
    const std::uint64_t one = 1;
    // EAGAIN means that 2^64 - 2 signals wait: the descriptor is readable already.
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
    return true;
}

Result<FileDescriptor> adopt_event(int fd) {
    const std::string name = "/proc/self/fd/" + std::to_string(fd);
    char target[64] = {};
    const ssize_t length = readlink(name.c_str(), target, sizeof target - 1);
    // Without /proc the type of a descriptor cannot be read; then any open descriptor is accepted.
    const bool can_tell = length >= 0 || access("/proc/self/fd", X_OK) == 0;
    const bool is_event = !can_tell || std::string_view(target) == "anon_inode:[eventfd]";
    if (fd < 0 || !is_event) {
        return base::Status(base::Code::system,
                            "descriptor " + std::to_string(fd) +
                                " is no event: something closed it before acp_init");
    }
    return duplicate(fd);
}

bool Event::signal() noexcept {
    return signal_event(descriptor_.get());
}

bool Event::drain() noexcept {
    std::uint64_t count = 0;
    ssize_t got = 0;
    do {
        got = read(descriptor_.get(), &count, sizeof count);
    } while (got < 0 && errno == EINTR);
    return got == static_cast<ssize_t>(sizeof count);
}

}  // namespace acp::os
