// SPDX-License-Identifier: BSD-3-Clause
// Memory of the program that PM messages have locked, so that other ranks may write and read it: whole pages, registered once however often
// they are locked, and until the last unlock. Nothing is kept registered beyond that: whoever still has the address must get an error, and not
// what the program has put there since. Any thread. Tests: tests/conformance/pm_memory_test.cpp.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "gma/gma.hpp"

namespace acp::pm {

class Registrations {
public:
    //   gma  outlives this, and ends what is left
    explicit Registrations(gma::Gma& gma) noexcept : gma_(gma) {}

    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;
    ~Registrations() = default;

    // Gives all pages of some memory global addresses, until as many calls of unlock(). Returns that of the first byte.
    // Errors: argument (no such memory, or 0 bytes), limit. Throws std::bad_alloc.
    base::Result<memory::GlobalAddress> lock(void* address, std::uint64_t bytes);

    // Errors: stale (nobody has locked it).
    base::Status unlock(memory::GlobalAddress address);

private:
    struct LockedMemory {
        std::uint64_t start = 0;  // of its first page
        std::uint64_t end = 0;    // of its last one
        local::Key key = 0;       // the address of the first byte
        std::uint64_t users = 0;
    };

    [[nodiscard]] LockedMemory* find(std::uint64_t start, std::uint64_t end) noexcept;
    base::Result<LockedMemory*> add(std::uint64_t start, std::uint64_t end);

    gma::Gma& gma_;
    std::mutex mutex_;
    std::vector<LockedMemory> all_;
    std::size_t last_ = 0;  // index of the one found last
};

}  // namespace acp::pm
