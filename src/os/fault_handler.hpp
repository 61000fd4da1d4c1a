// SPDX-License-Identifier: BSD-3-Clause
// One handler of SIGBUS and SIGSEGV for the process, and the ranges of memory whose faults it
// repairs: for a fault in such a range it calls the owner of the range, and it passes each other
// signal on to the action that the process had before. Knows nothing of what a repair does. A range
// is made and ended by any thread; repairs run in the thread that faults, inside the handler.
// Tests: tests/unit/os/fault_handler_test.cpp, tests/unit/os/former_action_test.cpp.
//
// The handler is installed with the first range. When the last range ends, the former actions
// return, unless the program has installed a handler of its own in the meantime: then ours stays
// installed beneath it, for the program's one may pass signals on to it.
// Signals that other code sends (kill, raise) are never faults in a range.
//
// A signal that is passed on has the effect that it would have without this handler: a former
// handler runs with its mask, and with SA_RESETHAND once; the default action ends the process with
// a core whose registers are those of the faulting instruction; SIG_IGN ignores a signal that was
// sent, and does not save a thread that faults. Former handlers without SA_ONSTACK run on the
// alternative stack too if the thread has one.
//
// A thread that blocks the signal is ended by the kernel: no handler runs.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.hpp"

namespace acp::os {

using base::Result;

// What the thread did to the address.
enum class FaultAccess {
    read,  // or executed
    write,
    unknown,  // the processor or the caller of handle_fault() did not say
};

// Why the kernel refused the access.
enum class FaultCause {
    absent,    // SIGBUS: a page of a userfaultfd that is absent or protected
    rights,    // SIGSEGV: the mapping does not allow the access
    unmapped,  // SIGSEGV: nothing is mapped there, as in a child of fork() (MADV_DONTFORK)
};

struct MemoryFault {
    char* address;
    FaultAccess access;
    FaultCause cause;
};

// Repairs a fault, so that the thread can repeat the instruction.
//   owner  as given to FaultRange::create()
// Returns false if it cannot: the handler passes the signal on. It runs inside the signal handler,
// which blocks all signals but those of faulty instructions. It calls only functions that are
// async-signal-safe, or that never access the range. It may fault in another range, not in its own.
// It may change errno, which the handler restores.
using RepairFault = bool (*)(void* owner, const MemoryFault& fault) noexcept;

// A range whose faults are repaired, as long as the object lives.
class FaultRange {
public:
    FaultRange() noexcept = default;

    //   address, bytes  any boundaries; need not be mapped
    //   repair, owner   must be callable until the object has been destroyed
    // Errors: argument (0 bytes, wrap-around, or an overlap with another range), limit (ranges_max
    // ranges), system (the kernel refuses the handler).
    static Result<FaultRange> create(char* address,
                                     std::uint64_t bytes,
                                     RepairFault repair,
                                     void* owner);

    FaultRange(FaultRange&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}

    FaultRange& operator=(FaultRange&& other) noexcept {
        std::swap(slot_, other.slot_);
        return *this;
    }

    FaultRange(const FaultRange&) = delete;
    FaultRange& operator=(const FaultRange&) = delete;

    // Waits until no other thread runs the range's repair; not to be called by the repair itself.
    ~FaultRange();

    static constexpr std::size_t ranges_max = 16;

    struct Slot;

private:
    explicit FaultRange(Slot* slot) noexcept : slot_(slot) {}

    Slot* slot_ = nullptr;  // static memory
};

// For a handler that the program has installed itself: repairs the fault that the kernel reported,
// if it lies in a range. false: the signal is the program's own.
//   context  the handler's third argument; nullptr: the access is unknown
// Async-signal-safe where the repair is. Keeps errno.
bool handle_fault(const siginfo_t& info, const void* context) noexcept;

}  // namespace acp::os
