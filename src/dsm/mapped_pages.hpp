// SPDX-License-Identifier: BSD-3-Clause
// What this rank believes of the state of each page in its own mapping of the window: one byte a
// page, private to the rank. The kernel's page table is no substitute (tracker.hpp, rule 1). Knows no
// system call. Any thread, signal handlers included; no call blocks.
// Tests: tests/unit/dsm/mapped_pages_test.cpp, under the seeded scheduler.
//
// Transitions. F: a fault's handler; B: the rank's thread in a barrier.
//   absent -> protected | written | untracked   F, after the bytes are here and before they are mapped
//   protected -> written                        F (sync, protect), or a repeated fault (async)
//   written -> protected                        B, harvest
//   untracked -> protected                      B, a home that another node caches now
//   any -> absent                               B, or the eviction of one page
// F stores the state before the system call that maps the page: if the thread is stopped between the
// two, another thread's fault sees "mapped" and maps the page again as written, which is safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "pages/page.hpp"

namespace acp::dsm {

enum class MappedState : std::uint8_t { absent, is_protected, written, untracked };

template <template <class> class Atomic = std::atomic>
class MappedPages {
public:
    explicit MappedPages(std::uint64_t pages) : states_(pages) {}

    [[nodiscard]] MappedState state(pages::PageNumber page) const noexcept {
        // relaxed: the page word orders the bytes; this byte only chooses a repair
        return states_[page].load(std::memory_order_relaxed);
    }

    // A fault maps the page. Returns the state before: not absent means that the kernel unmapped it,
    // or that another thread maps it now; the state is `written` then.
    MappedState begin_map(pages::PageNumber page, MappedState as) noexcept {
        MappedState before = MappedState::absent;
        // relaxed: as in state()
        if (states_[page].compare_exchange_strong(before, as, std::memory_order_relaxed)) {
            return MappedState::absent;
        }
        if (before != MappedState::untracked) {
            states_[page].store(MappedState::written, std::memory_order_relaxed);
        }
        return before;
    }

    // In a barrier, or for a page that the caller alone has mapped.
    void set(pages::PageNumber page, MappedState state) noexcept {
        states_[page].store(state, std::memory_order_relaxed);
    }

private:
    std::vector<Atomic<MappedState>> states_;
};

}  // namespace acp::dsm
