// SPDX-License-Identifier: BSD-3-Clause
// Memory without a name in any file system: a sealed memfd, shared by inheriting or passing its
// descriptor, freed with its last user. Its size is fixed when it is made. Its pages are committed
// on request, so that a shortage is an error of that call and not a signal at first touch. Knows
// nothing of who maps it. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

// Makes a sparse memory file, close-on-exec, sealed against growing, shrinking and further seals.
//   name   appears in /proc/PID/maps only; need not be unique
//   bytes  1 .. 2^62; no page is committed
// Errors: limit (descriptors used up), system.
Result<FileDescriptor> create_memory_file(const char* name, std::uint64_t bytes);

// A second descriptor, close-on-exec, of a memory file that this process inherited. The first one
// stays open. Errors: state (the number is not open, or is another file), limit (descriptors used
// up), system.
Result<FileDescriptor> adopt_memory_file(int fd);

// Whether this process has a memory file of this name mapped. false too where /proc is not mounted.
[[nodiscard]] bool is_memory_file_mapped(std::string_view name);

// Up to this size committing takes less time than reading the limits of memory, and any machine has
// it left.
inline constexpr std::uint64_t little_bytes = 1ULL << 20;

// Commits the pages of [offset, offset + bytes), some of which may be committed already; their
// contents stay. For more than little_bytes it checks the cgroup's limit and the machine's free
// memory first, so that a shortage does not cause the out-of-memory killer to run.
// Errors: memory (requested and available bytes in the message; the range may be partly committed),
// argument (range outside the file), system. Blocks while the kernel clears pages.
Status commit(int fd, std::uint64_t offset, std::uint64_t bytes);

// Write or read all of `bytes` at an offset, where a mapping is not worth its cost. Any file.
// Errors: system (not open, not a file, shorter than the range, or full).
Status write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes);
Status read_at(int fd, std::uint64_t offset, std::span<std::byte> bytes);

}  // namespace acp::os
