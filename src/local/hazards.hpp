// SPDX-License-Identifier: BSD-3-Clause
// Hands out the hazard lines of one process to its threads, and waits until nobody names a segment. A thread
// keeps its line until it ends. When all lines are taken the remaining threads share the last one under a
// lock. Knows the slots of the node only to skip the dead. Any thread.
// Tests: tests/unit/local/hazards_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "memory/ga_layout.hpp"
#include "memory/hazard.hpp"
#include "node/segment.hpp"

namespace acp::local {

class Hazards {
public:
    //   segment  must outlive this
    Hazards(const node::Segment& segment, std::uint32_t slot);
    ~Hazards();
    Hazards(const Hazards&) = delete;
    Hazards& operator=(const Hazards&) = delete;

    // The calling thread's own line, claimed at its first call; nullptr when all are taken.
    [[nodiscard]] memory::HazardLine* own_line();

    // A line for one access by a thread that has none: locks the shared one while it lives.
    class Lease {
    public:
        explicit Lease(Hazards& hazards);

        [[nodiscard]] memory::HazardLine& line() noexcept { return *line_; }

    private:
        std::unique_lock<std::mutex> lock_;
        memory::HazardLine* line_;
    };

    // Waits until no living thread of the node names an address that is_named(address) says true for. The
    // caller has already made the segment unreachable. Prints who holds it after 1 s. Blocks.
    void wait_until_unnamed(const std::function<bool(memory::GlobalAddress)>& is_named) const;

    // Names the addresses the calling thread is about to use, in a line it may use. The fence only where the
    // owner cannot do it for us. Left by memory::leave().
    void enter(memory::HazardLine& line,
               memory::GlobalAddress target,
               memory::GlobalAddress source) const noexcept {
        if (has_membarrier()) [[likely]] {
            memory::enter<memory::HazardFence::compiler>(line, target, source);
        } else {
            memory::enter<memory::HazardFence::processor>(line, target, source);
        }
    }

    // True when plain stores suffice in enter(): the kernel does the owner's membarrier.
    // Only where every process of the node can ask for that: whoever cannot tells before it meets the others.
    [[nodiscard]] bool has_membarrier() const noexcept {
        // relaxed: written before a meeting that came before any use
        return has_membarrier_ &&
               segment_.control().is_membarrier_refused.load(std::memory_order_relaxed) == 0;
    }

private:
    struct Claims;

    bool pause(std::uint32_t turns, std::uint32_t slot, std::uint64_t complain_at_ns) const;
    void complain_about(std::uint32_t slot) const;

    const node::Segment& segment_;
    std::uint32_t slot_;
    bool has_membarrier_;
    std::shared_ptr<Claims> claims_;  // shared with the threads that hold lines
    std::mutex shared_line_mutex_;
};

}  // namespace acp::local
