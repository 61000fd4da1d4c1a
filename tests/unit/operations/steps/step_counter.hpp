// SPDX-License-Identifier: BSD-3-Clause
// Counts what an operation does to the memory of a node: each access that its code makes there, and
// the bytes that it copies by memcpy and its like. The code is compiled for ThreadSanitizer, which
// puts a call before each access, and linked with this counter instead of the sanitizer. Accesses of
// other memory, such as the thread's stack, do not count. One thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acp::operations::test {

// The work of an operation.
struct Work {
    std::uint64_t steps = 0;   // accesses, atomic or not; a copy of any length is one
    std::uint64_t copied = 0;  // bytes that copies have read or written
};

// Counts from its construction to its destruction; there is one at a time.
class StepCounter {
public:
    //   memory, bytes  the range whose accesses count
    StepCounter(const void* memory, std::uint64_t bytes) noexcept;
    ~StepCounter();
    StepCounter(const StepCounter&) = delete;
    StepCounter& operator=(const StepCounter&) = delete;

    [[nodiscard]] static Work work() noexcept;
};

}  // namespace acp::operations::test
