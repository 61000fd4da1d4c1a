// SPDX-License-Identifier: BSD-3-Clause
// Assigns the hazard lines of one process to its threads, and waits until no thread names a
// segment. A thread keeps its line until it exits; calls after that, in a pthread-key destructor,
// take a line for one call each. When all lines are taken, the remaining threads share the last one
// under a lock. Knows the slots of the node only to skip the dead ones. Any thread.
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

// The calling thread's line, found without a search. Plain words without a destructor, because a
// thread may call the library while it or the process exits, after objects with a destructor are
// destroyed.
struct ThreadLine {
    std::uint64_t view = 0;  // the Hazards that the line belongs to; 0 = none
    memory::HazardLine* line = nullptr;
    // the thread has returned its line because it exits; it keeps no line from then on
    bool is_ending = false;
};

extern constinit thread_local ThreadLine thread_line __attribute__((tls_model("initial-exec")));

}  // namespace detail

class Hazards {
public:
    //   segment  must outlive this
    Hazards(const node::Segment& segment, std::uint32_t slot);
    // No thread that holds a line may end while the destructor runs.
    ~Hazards();
    Hazards(const Hazards&) = delete;
    Hazards& operator=(const Hazards&) = delete;

    // The calling thread's own line, claimed at its first call; nullptr when all lines are taken,
    // and after the thread has returned its line because it exits.
    [[nodiscard]] memory::HazardLine* own_line() {
        if (detail::thread_line.view == view_) [[likely]] {
            return detail::thread_line.line;
        }
        return claim_own_line();
    }

    // own_line(), unless it names an access that the calling thread is inside of: the thread runs
    // the handler of a fault that this access has raised. Then nullptr, and a Lease gives another
    // line.
    [[nodiscard]] memory::HazardLine* free_line() {
        memory::HazardLine* const line = own_line();
        return line != nullptr && !memory::is_entered(*line) ? line : nullptr;
    }

    // own_line(), also stored in a variable of the calling thread, which becomes nullptr when the
    // line is returned.
    //   place  a thread_local variable without a destructor
    void keep_own_line(memory::HazardLine*& place);

    // Called in a forked child, whose memory still shows its parent's lines: from now on no line is
    // returned. Takes no lock.
    void abandon() noexcept;

    // A line for one access: the thread's own; for a thread that exits, and in the handler of a
    // fault of an access that the own line names, a free line, which the destructor returns; if
    // there is none, the shared line, whose lock is held while this object lives.
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
        // the Hazards to which the line is returned; nullptr: it is not returned
        Hazards* lender_ = nullptr;
    };

    // Waits until no living thread of the node names an address for which is_named(address) is
    // true. The caller has already made the segment unreachable. After 1 s it prints which process
    // still names one. Blocks.
    void wait_until_unnamed(const std::function<bool(memory::GlobalAddress)>& is_named) const;

    // Whether a living thread of the node names such an address now. Does not block. An address of
    // a segment that was made unreachable before order_with_readers() and is not named is never
    // used again.
    [[nodiscard]] bool is_named(
        const std::function<bool(memory::GlobalAddress)>& is_wanted) const noexcept;

    // When this returns, every thread of the node has passed a full barrier: either the caller sees
    // the name that a thread set, here, or the
    // thread sees all that the caller wrote before this call.
    void order_with_readers() const noexcept;

    // The slot of the process that owns these lines.
    [[nodiscard]] std::uint32_t slot() const noexcept { return slot_; }

    // The index of a line among those of its process: 0 .. hazard_lines_per_slot - 1.
    [[nodiscard]] std::uint32_t index_of(const memory::HazardLine& line) const noexcept {
        return static_cast<std::uint32_t>(&line - first_line_);
    }

    // Names the addresses that the calling thread is about to use, in a line that it may use.
    // Executes a fence only if the owner cannot do so by membarrier. memory::leave() ends the
    // naming.
    void enter(memory::HazardLine& line,
               memory::GlobalAddress target,
               memory::GlobalAddress source) const noexcept {
        if (has_membarrier()) [[likely]] {
            memory::enter<memory::HazardFence::compiler>(line, target, source);
        } else {
            memory::enter<memory::HazardFence::processor>(line, target, source);
        }
    }

    // True when plain stores suffice in enter(), because the owner's membarrier makes the kernel
    // order them. Requires membarrier in every process of the node: a process whose kernel refuses
    // it sets is_membarrier_refused before its first barrier with the others.
    [[nodiscard]] bool has_membarrier() const noexcept {
        // relaxed: written before a barrier of the node that precedes any use
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
    const memory::HazardLine* first_line_;  // the first line of this process
    std::uint64_t view_;                    // unique number of this object; 0 is none
    bool has_membarrier_;
    std::unique_ptr<Claims> claims_;
    // its values are the Holdings of threads; if it is not open, no thread keeps a line
    os::ThreadExit thread_exit_;
    std::mutex shared_line_mutex_;
};

}  // namespace acp::local
