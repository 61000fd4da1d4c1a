// SPDX-License-Identifier: BSD-3-Clause
// Hands out the hazard lines of one process to its threads, and waits until nobody names a segment. A thread
// keeps its line until it ends; a call that it makes later, in a pthread-key destructor, takes a line for that call
// alone. When all lines are taken the remaining threads share the last one under a lock. Knows the slots of the
// node only to skip the dead. Any thread.
// Tests: tests/unit/local/hazards_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "memory/ga_layout.hpp"
#include "memory/hazard.hpp"
#include "node/segment.hpp"
#include "os/thread_exit.hpp"

namespace acp::local {

namespace detail {

// What a thread knows without a search. Plain words without a destructor: calls are made also while a thread or the
// process ends, when objects with a destructor are gone.
struct ThreadLine {
    std::uint64_t view = 0;  // the Hazards that the line belongs to; 0 = none
    memory::HazardLine* line = nullptr;
    bool is_ending =
        false;  // a line was given back because the thread ends: it keeps none any more
};

extern constinit thread_local ThreadLine thread_line __attribute__((tls_model("initial-exec")));

}  // namespace detail

class Hazards {
public:
    //   segment  must outlive this
    Hazards(const node::Segment& segment, std::uint32_t slot);
    // No thread that holds a line may end meanwhile.
    ~Hazards();
    Hazards(const Hazards&) = delete;
    Hazards& operator=(const Hazards&) = delete;

    // The calling thread's own line, claimed at its first call; nullptr when all are taken, and once the thread has
    // given its line back because it ends.
    [[nodiscard]] memory::HazardLine* own_line() {
        if (detail::thread_line.view == view_) [[likely]] {
            return detail::thread_line.line;
        }
        return claim_own_line();
    }

    // The same, and stores it in a variable of the calling thread, which becomes nullptr when the line is given back.
    //   place  thread-local, without a destructor
    void keep_own_line(memory::HazardLine*& place);

    // In a forked child, which has the lines of its parent before its eyes: from now on nothing is given back. Takes no
    // lock.
    void abandon() noexcept;

    // A line for one access: the thread's own; for a thread that ends a free one, given back afterwards; else the
    // shared one, locked while this lives.
    class Lease {
    public:
        explicit Lease(Hazards& hazards);
        ~Lease();

        Lease(Lease&& other) noexcept
            : lock_(std::move(other.lock_)),
              line_(other.line_),
              lender_(std::exchange(other.lender_, nullptr)) {}

        Lease& operator=(Lease&&) = delete;
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        [[nodiscard]] memory::HazardLine& line() noexcept { return *line_; }

    private:
        std::unique_lock<std::mutex> lock_;
        memory::HazardLine* line_;
        Hazards* lender_ = nullptr;  // whom the line is given back to
    };

    // Waits until no living thread of the node names an address that is_named(address) says true for. The
    // caller has already made the segment unreachable. Prints who holds it after 1 s. Blocks.
    void wait_until_unnamed(const std::function<bool(memory::GlobalAddress)>& is_named) const;

    // Every thread of the node has passed a full barrier when it returns: what it named before, here and in the words of
    // layers (local/hazard_words.hpp), is seen from now on, or else it sees what the caller wrote before this call.
    void order_with_readers() const noexcept;

    // Of the process whose lines these are.
    [[nodiscard]] std::uint32_t slot() const noexcept { return slot_; }

    // Which one of its process's lines it is: 0 .. hazard_lines_per_slot - 1.
    [[nodiscard]] std::uint32_t index_of(const memory::HazardLine& line) const noexcept {
        return static_cast<std::uint32_t>(&line - segment_.hazards(slot_).data());
    }

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
    class Claims;
    struct Holding;

    [[nodiscard]] bool may_keep_line() const noexcept;
    memory::HazardLine* claim_own_line();
    Holding* own_holding();
    static void at_thread_exit(void* holding);
    bool pause(std::uint32_t turns, std::uint32_t slot, std::uint64_t complain_at_ns) const;
    void complain_about(std::uint32_t slot) const;

    const node::Segment& segment_;
    std::uint32_t slot_;
    std::uint64_t view_;  // a number of its own
    bool has_membarrier_;
    std::unique_ptr<Claims> claims_;
    os::ThreadExit thread_exit_;  // its values are Holdings; not open: nobody keeps a line
    std::mutex shared_line_mutex_;
};

}  // namespace acp::local
