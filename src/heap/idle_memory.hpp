// SPDX-License-Identifier: BSD-3-Clause
// The memory of idle areas, given back to the system one area a call: for a gateway, which serves
// other requests between two calls. The kernel takes about 0.5 ms to free 1 MiB, so the operation
// that frees a long block does not give its memory back. The units of the block are free at once. One thread gives back; hold() may be called by any thread of
// any process. If the first is killed, recovery of its cache gives up the units of the area.
// Tests: tests/unit/heap/heap_test.cpp, tests/unit/heap/kill_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "heap/control.hpp"
#include "heap/thread_cache.hpp"
#include "heap/units.hpp"

namespace acp::heap {

template <template <class> class Atomic = std::atomic>
class IdleMemory {
public:
    //   control, units  must outlive this
    IdleMemory(const Control<Atomic>& control, const Units<Atomic>& units) noexcept
        : control_(control), units_(units) {}

    // Gives the memory of one area back, if more are idle than Units keeps.
    //   now_ns  of the clock of hold()
    void give_back_one(ThreadCache& cache, std::uint64_t now_ns) const {
        // seq_cst, both: partner is hold()
        control_.is_giving_back().store(1, std::memory_order_seq_cst);
        if (control_.give_back_not_before().load(std::memory_order_seq_cst) <= now_ns)
            give_back_next(cache);
        control_.is_giving_back().store(0, std::memory_order_release);
    }

    // Lets give_back_one() begin nothing before `until_ns`: so that a thread which found no room
    // finds all areas that are free, when it tries again. false: an area is being given back. The
    // caller may wait for that, until this call returns true.
    bool hold(std::uint64_t until_ns) const noexcept {
        // seq_cst, both: partner is give_back_one()
        control_.give_back_not_before().store(until_ns, std::memory_order_seq_cst);
        return !is_giving_back();
    }

    [[nodiscard]] bool is_giving_back() const noexcept {
        return control_.is_giving_back().load(std::memory_order_seq_cst) != 0;
    }

private:
    void give_back_next(ThreadCache& cache) const {
        std::uint64_t counted = control_.idle_areas().load(std::memory_order_relaxed);
        if (!units_.has_to_give_back()) return;
        const std::uint32_t words = (control_.shape().areas + 63) / 64;
        for (std::uint32_t i = 0; i < words; ++i) {
            const std::uint32_t word = (cache.give_back_from() / 64 + i) % words;
            std::uint64_t idle = control_.backed(word).load(std::memory_order_relaxed) &
                                 ~control_.busy(word).load(std::memory_order_relaxed);
            for (; idle != 0; idle &= idle - 1) {
                const auto area = word * 64 + static_cast<std::uint32_t>(std::countr_zero(idle));
                cache.give_back_from() = area;
                if (units_.give_back(cache, area)) return;
            }
        }
        // No area is idle: processes were killed while they counted.
        control_.idle_areas().compare_exchange_strong(counted, 0, std::memory_order_relaxed);
    }

    const Control<Atomic>& control_;
    const Units<Atomic>& units_;
};

}  // namespace acp::heap
