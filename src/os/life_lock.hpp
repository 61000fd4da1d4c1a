// SPDX-License-Identifier: BSD-3-Clause
// A lock that lasts as long as the memory of the process that took it: the kernel gives it up when the process
// ends, however it ends, and when it runs another program by exec. It lies on one byte of a file that all who want
// to know have open, so it holds across pid namespaces and cannot be mistaken for another process, as a process
// number can. Neither closing descriptors (closefrom) nor a forked child changes it. CloseWatch tells when a file
// is given up somewhere, so that nobody has to look again and again. Knows nothing of ranks. Any thread.
// Tests: tests/unit/os/life_lock_test.cpp.
#pragma once

#include <cstdint>
#include <utility>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"
#include "os/mapping.hpp"

namespace acp::os {

class LifeLock {
public:
    LifeLock() noexcept = default;

    // Takes the lock on one byte of a file, which need not reach that far.
    //   file  open for writing in this process; still the caller's
    // Errors: state (another process lives that has it), unsupported (this kernel has no such locks, or a sandbox
    // refuses them), limit, system (no /proc, where the file has to be opened a second time).
    static base::Result<LifeLock> take(int file, std::uint64_t byte);

    [[nodiscard]] bool is_held() const noexcept { return mapping_.data() != nullptr; }

private:
    // Of the file as it was opened for this lock alone. A mapping keeps an open file, and with it its lock, after the
    // descriptor is closed.
    Mapping mapping_;
};

// What is known of a lock.
enum class LifeLook : std::uint8_t {
    held,
    free,    // its owner is gone, has run another program, or never took it
    unknown  // the kernel does not tell
};

// Looks at a lock of another process, or of this one. Does not block, needs no free descriptor.
//   file  as in take(); one that is not open, or has no locks, gives unknown
[[nodiscard]] LifeLook look_at_life(int file, std::uint64_t byte) noexcept;

// Which file a descriptor names: equal for two descriptors of the same file, in all processes of a machine.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileIdentity&) const = default;
};

// That of no file, all zero, when the descriptor is not open.
[[nodiscard]] FileIdentity identity_of_file(int file) noexcept;

// Says when somebody gives up a file that was open for writing: closes its last descriptor and mapping of one time it
// was opened. For the process that waits for the ends of LifeLocks. The kernel says so a moment before the locks come
// free: who looks at one and finds it held looks again.
class CloseWatch {
public:
    // Errors: limit (fs.inotify.max_user_instances, descriptors), unsupported, system (no /proc).
    static base::Result<CloseWatch> create(int file);

    // Readable when that happened since the last take().
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

    // Whether that happened since the last take().
    bool take() noexcept;

private:
    explicit CloseWatch(FileDescriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

    FileDescriptor descriptor_;
};

}  // namespace acp::os
