// SPDX-License-Identifier: BSD-3-Clause
// Uses locks of open file descriptions, which a mapping keeps alive, and inotify to notice their
// ends.
#include "os/life_lock.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/system_error.hpp"

namespace acp::os {

namespace {

using base::Code;
using base::Result;
using base::Status;

std::string path_of(int file) {
    return "/proc/self/fd/" + std::to_string(file);
}

struct flock one_byte(std::uint64_t byte) noexcept {
    struct flock lock {};

    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(byte);
    lock.l_len = 1;
    return lock;
}

}  // namespace

// The lock belongs to a second open file description of the file, because the caller's description
// may be shared with the agent and with other ranks by inheritance.
Result<LifeLock> LifeLock::take(int file, std::uint64_t byte) {
    const FileDescriptor own(open(path_of(file).c_str(), O_RDWR | O_CLOEXEC));
    if (!own.is_open()) return system_failure("open", errno, path_of(file));
    auto mapping = Mapping::map_shared_read_only(own.get(), page_bytes());
    if (!mapping.is_ok()) return std::move(mapping).failure();
    // Before the lock is taken, because a child that another thread forks after that must not
    // inherit the mapping.
    madvise(mapping.value().data(), page_bytes(), MADV_DONTFORK);
    struct flock lock = one_byte(byte);
    if (fcntl(own.get(), F_OFD_SETLK, &lock) != 0) {
        if (errno == EAGAIN || errno == EACCES) {
            return Status(Code::state, "another process that lives has the lock");
        }
        const int error = errno == EINVAL ? ENOSYS : errno;
        return system_failure("fcntl(F_OFD_SETLK)", error, path_of(file));
    }
    LifeLock taken;
    taken.mapping_ = std::move(mapping).value();
    return taken;
}

LifeLook look_at_life(int file, std::uint64_t byte) noexcept {
    struct flock lock = one_byte(byte);
    if (fcntl(file, F_OFD_GETLK, &lock) != 0) return LifeLook::unknown;
    return lock.l_type == F_UNLCK ? LifeLook::free : LifeLook::held;
}

FileIdentity identity_of_file(int file) noexcept {
    struct stat status {};

    if (fstat(file, &status) != 0) return {};
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

Result<CloseWatch> CloseWatch::create(int file) {
    FileDescriptor descriptor(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!descriptor.is_open()) {
        return system_failure("inotify_init1", errno,
                              "see also fs.inotify.max_user_instances (sysctl)");
    }
    if (inotify_add_watch(descriptor.get(), path_of(file).c_str(), IN_CLOSE_WRITE) < 0) {
        return system_failure("inotify_add_watch", errno, path_of(file));
    }
    return CloseWatch(std::move(descriptor));
}

bool CloseWatch::take() noexcept {
    std::array<char, 4096> events;  // NOLINT(cppcoreguidelines-pro-type-member-init): not read
    bool is_any = false;
    while (read(descriptor_.get(), events.data(), events.size()) > 0) is_any = true;
    return is_any;
}

}  // namespace acp::os
