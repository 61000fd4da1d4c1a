// SPDX-License-Identifier: BSD-3-Clause
// Registrations of the program's memory that are kept when they are no longer used, since the same memory is often used again: a pin-down cache.
// Paper 001 names its source (Tezuka and others, 1998); here nothing is pinned, and what a registration costs is the kernel's word that the
// memory is there. One that is kept is not used for memory that was unmapped meanwhile, be it mapped anew or not: the kernel tells of it
// (os/unmap_watch.hpp). Where it does not, no registration is kept. One for each epoch; any thread.
// Tests: tests/conformance/pm_memory_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "gma/gma.hpp"
#include "os/unmap_watch.hpp"

namespace acp::pm {

class Registrations {
public:
    static constexpr std::uint64_t kept_max = 64;  // that nobody uses

    //   gma  outlives this, and ends what is left
    explicit Registrations(gma::Gma& gma) noexcept : gma_(gma) {}

    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;
    ~Registrations();

    // Gives all pages of some memory global addresses, until as many calls of unlock(). Returns that of the first byte.
    // Errors: argument (no such memory, or 0 bytes), limit. Throws std::bad_alloc.
    base::Result<memory::GlobalAddress> lock(void* address, std::uint64_t bytes);

    // Errors: stale (nobody has locked it).
    base::Status unlock(memory::GlobalAddress address);

private:
    struct LockedMemory {
        os::MemoryRange pages;
        local::Key key = 0;  // the address of the first byte
        std::uint64_t users = 0;
        std::uint64_t last_use = 0;
        bool is_kept =
            false;  // the kernel tells if it is unmapped, and has not: it can be used again
    };

    [[nodiscard]] LockedMemory* find(os::MemoryRange pages) noexcept;
    base::Result<LockedMemory*> add(os::MemoryRange pages);
    void heed_unmapped();
    void end_unused();
    void end_oldest();
    void end(std::size_t index);

    gma::Gma& gma_;
    std::mutex mutex_;
    bool is_watch_tried_ = false;
    std::unique_ptr<os::UnmapWatch> watch_;  // nullptr: the kernel gives none
    std::vector<LockedMemory> all_;
    std::size_t last_ = 0;  // index of the one found last
    std::uint64_t uses_ = 0;
    std::uint64_t unused_ = 0;
};

}  // namespace acp::pm
