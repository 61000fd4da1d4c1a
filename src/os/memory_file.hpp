// SPDX-License-Identifier: BSD-3-Clause
// Memory without a name in any file system: a sealed memfd, shared by inheriting or passing its
// descriptor and gone with its last user. Its size is fixed when it is made, its pages are not: they
// are committed when asked for, so that shortage is an error here and not a signal at first touch.
// Knows nothing of who maps it. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

// Makes a sparse memory file, close-on-exec, sealed against growing, shrinking and further seals.
//   name   shown in /proc/PID/maps only; need not be unique
//   bytes  1 .. 2^62; no page is committed
// Errors: limit (descriptors used up), system.
Result<FileDescriptor> create_memory_file(const char* name, std::uint64_t bytes);

// A second descriptor, close-on-exec, of a memory file that this process inherited. The first one stays open.
// Errors: state (the number is not open, or is some other file by now), limit (descriptors used up), system.
Result<FileDescriptor> adopt_memory_file(int fd);

// Commits the pages of [offset, offset + bytes), which may partly be committed already; their
// contents stay. Looks at the cgroup's limit and the machine's free memory first, so that a shortage
// does not call the out-of-memory killer.
// Errors: memory (requested and available bytes in the message; nothing promised about the range),
// argument (range outside the file), system. Blocks while the kernel clears pages.
Status commit(int fd, std::uint64_t offset, std::uint64_t bytes);

// All of `bytes` at an offset, for what is not worth a mapping. Any file.
// Errors: system (not open, not a file, shorter than that, full).
Status write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes);
Status read_at(int fd, std::uint64_t offset, std::span<std::byte> bytes);

}  // namespace acp::os
