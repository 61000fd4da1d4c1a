// SPDX-License-Identifier: BSD-3-Clause
// A lock that lasts as long as the memory of the process that took it: the kernel releases it when
// the process ends, in whatever way, and when the process runs another program by exec. It is a
// lock on one byte of a file that all interested processes have open, so it works across pid
// namespaces and, unlike a process id, cannot be mistaken for another process. Neither closing
// descriptors (closefrom) nor forking a child affects it. CloseWatch reports that a process has
// closed a file, so that the watcher of locks need not poll. Knows nothing of ranks. Any thread.
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

    // Takes the lock on one byte of a file, which may lie beyond the file's end.
    //   file  open for writing in this process; the caller keeps it
    // Errors: state (another living process has it), unsupported (this kernel has no such locks, or
    // a sandbox refuses them), limit, system (no /proc, through which the file is opened a second
    // time).
    static base::Result<LifeLock> take(int file, std::uint64_t byte);

    [[nodiscard]] bool is_held() const noexcept { return mapping_.data() != nullptr; }

private:
    // Maps the open file description that was made for this lock alone. The mapping keeps that
    // description, and with it its lock, after the descriptor is closed.
    Mapping mapping_;
};

// The state of a lock.
enum class LifeLook : std::uint8_t {
    held,
    free,    // its owner has ended, has run another program, or never took it
    unknown  // the kernel does not report it
};

// Checks a lock of another process, or of this one. Does not block, needs no free descriptor.
//   file  as in take(); a file that is not open, or that has no locks, gives unknown
[[nodiscard]] LifeLook look_at_life(int file, std::uint64_t byte) noexcept;

// Identifies the file of a descriptor: equal for two descriptors of the same file, in all processes
// of a machine.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileIdentity&) const = default;
};

// The identity of a descriptor's file; all zero when the descriptor is not open.
[[nodiscard]] FileIdentity identity_of_file(int file) noexcept;

// Reports when a process closes the last descriptor or mapping of an open file description that
// could write to the file. For the process that waits for the release of LifeLocks. The kernel
// reports this a moment before it releases the locks: a caller that finds a lock still held must
// test it again.
class CloseWatch {
public:
    // Errors: limit (fs.inotify.max_user_instances, descriptors), unsupported, system (no /proc).
    static base::Result<CloseWatch> create(int file);

    // Readable when a file was closed in this way since the last take().
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

    // Whether a file was closed in this way since the last take().
    bool take() noexcept;

private:
    explicit CloseWatch(FileDescriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

    FileDescriptor descriptor_;
};

}  // namespace acp::os
