// SPDX-License-Identifier: BSD-3-Clause
// Memory of the program that PM messages have locked, so that other ranks may write and read it:
// whole pages, registered once for any number of locks, until the last unlock. The registration
// ends then: a rank that still uses the address must get an error, not later content of the memory.
// Any thread. Tests: tests/unit/pm/registrations_test.cpp.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "gma/gma.hpp"

namespace acp::pm {

class Registrations {
public:
    //   gma  must outlive this; it ends registrations that are left
    explicit Registrations(gma::Gma& gma) noexcept : gma_(gma) {}

    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;
    ~Registrations() = default;

    // Registers all pages of the memory, until as many calls of unlock(). Returns the global
    // address of the first byte. Errors: argument (no such memory, or 0 bytes), limit. Throws
    // std::bad_alloc.
    base::Result<memory::GlobalAddress> lock(void* address, std::uint64_t bytes);

    // Errors: stale (the memory is not locked).
    base::Status unlock(memory::GlobalAddress address);

private:
    struct LockedMemory {
        std::uint64_t start = 0;  // start of its first page
        std::uint64_t end = 0;    // end of its last page
        local::Key key = 0;       // global address of its first byte
        std::uint64_t users = 0;
    };

    [[nodiscard]] LockedMemory* find(std::uint64_t start, std::uint64_t end) noexcept;
    base::Result<LockedMemory*> add(std::uint64_t start, std::uint64_t end);

    gma::Gma& gma_;
    std::mutex mutex_;
    std::vector<LockedMemory> all_;
    std::size_t last_ = 0;  // index of the last one found
};

}  // namespace acp::pm
