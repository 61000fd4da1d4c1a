// SPDX-License-Identifier: BSD-3-Clause
// The system calls of a device process: its executor, and a caller for each thread that runs
// functions. Any thread.
// Tests: tests/unit/worker/system_caller_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/status.hpp"
#include "os/companion.hpp"
#include "os/fault_guard.hpp"

#include "worker/system_call_memory.hpp"
#include "worker/system_caller.hpp"

namespace acp::worker {

using base::Status;

class SystemCalls {
public:
    // Starts the executor. To be called before threads run code that may hold a lock of malloc.
    //   callers  threads that make calls, at most
    // Errors: limit, memory, system.
    static Result<std::unique_ptr<SystemCalls>> start(std::uint32_t callers);

    // Kills the executor and waits for its end. Threads must have made their last calls.
    ~SystemCalls() = default;
    SystemCalls(const SystemCalls&) = delete;
    SystemCalls& operator=(const SystemCalls&) = delete;

    // Lets the executor make the system calls of the calling thread from now on (device_side).
    //   number  of the caller, below `callers`; one thread at a time has it
    //   guard   of the calling thread
    void serve_thread(std::uint32_t number, os::FaultGuard& guard) noexcept;

    // Ends the executor, before the process itself ends. Calls that wait do not return.
    void end() noexcept;

    // The process id of the executor; once it has ended, another process may have it.
    [[nodiscard]] int process() const noexcept { return companion_->process(); }

private:
    explicit SystemCalls(SystemCallMemory memory);

    void note_end() noexcept;

    SystemCallMemory memory_;
    std::atomic<bool> is_leaving_{false};
    std::atomic<bool> has_ended_{false};
    std::deque<SystemCaller> callers_;
    std::unique_ptr<os::Companion> companion_;  // last: its thread uses the others
};

}  // namespace acp::worker
