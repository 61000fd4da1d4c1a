// SPDX-License-Identifier: BSD-3-Clause
// A page that allows no access until a repair opens it, for tests of the fault handler.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <sys/mman.h>

#include "os/fault_handler.hpp"
#include "os/mapping.hpp"

namespace acp::os::test {

// A page without any rights, and what its repair saw.
struct GuardedPage {
    GuardedPage() {
        auto made = Mapping::map_anonymous(page_bytes());
        if (made.is_ok()) mapping = std::move(made).value();
        guard();
    }

    void guard() const { mprotect(mapping.data(), page_bytes(), PROT_NONE); }

    [[nodiscard]] volatile char* at(std::uint64_t offset) const { return mapping.data() + offset; }

    [[nodiscard]] Result<FaultRange> watch(RepairFault repair) {
        return FaultRange::create(mapping.data(), page_bytes(), repair, this);
    }

    Mapping mapping;
    std::atomic<int> repairs{0};
    MemoryFault last{};
};

// Allows what the thread tried: reading, or all.
inline bool open_page(void* owner, const MemoryFault& fault) noexcept {
    auto& page = *static_cast<GuardedPage*>(owner);
    page.last = fault;
    page.repairs.fetch_add(1, std::memory_order_relaxed);  // a counter
    const int rights = fault.access == FaultAccess::read ? PROT_READ : PROT_READ | PROT_WRITE;
    errno = ENOSPC;  // the interrupted code must not see it
    return mprotect(page.mapping.data(), page_bytes(), rights) == 0;
}

inline bool refuse_repair(void* owner, const MemoryFault& fault) noexcept {
    static_cast<GuardedPage*>(owner)->last = fault;
    return false;
}

}  // namespace acp::os::test
