// SPDX-License-Identifier: BSD-3-Clause
// Accesses to memory of the program that may be inaccessible, from a thread with a FaultGuard: as
// the kernel accesses the arguments of a system call, each function returns how many bytes at the
// start can be accessed. One thread, that of the guard.
// Tests: tests/unit/os/guarded_memory_test.cpp.
#pragma once

#include <cstdint>

#include "os/fault_guard.hpp"

namespace acp::os {

class GuardedMemory {
public:
    explicit GuardedMemory(FaultGuard& guard) noexcept : guard_(guard) {}

    // Copies from the program's memory.   to  memory that can be written
    std::uint64_t copy_in(void* to, std::uint64_t from, std::uint64_t bytes) noexcept;

    // Copies to the program's memory.   from  memory that can be read
    std::uint64_t copy_out(std::uint64_t to, const void* from, std::uint64_t bytes) noexcept;

    // Writes nothing, but makes the pages resident.
    [[nodiscard]] std::uint64_t writable(std::uint64_t address, std::uint64_t bytes) noexcept;

private:
    FaultGuard& guard_;
};

}  // namespace acp::os
