// SPDX-License-Identifier: BSD-3-Clause
// The executor: the process that carries out the system calls of a device process, whose companion it
// is (os/companion.hpp). It has a thread for each caller, which takes the records of its ring, checks
// them and makes the calls with the staging memory: one after the other, since a caller waits for
// each. It trusts no byte that the device process writes, and opens no descriptor of its own.
// Threads poll for a moment after a call, then sleep (os/adaptive_poll.hpp).
// Tests: tests/unit/worker/system_caller_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "os/thread.hpp"

#include "worker/system_call_memory.hpp"

namespace acp::worker {

class SystemCallExecutor {
public:
    explicit SystemCallExecutor(const SystemCallMemory& memory) noexcept : memory_(memory) {}

    // Serves as long as the process lives; starts a thread for each caller when the device process
    // asks for it. If the machine refuses a thread, the process ends and the callers notice. Blocks.
    void serve();

private:
    [[noreturn]] void serve_caller(std::uint32_t caller);

    const SystemCallMemory& memory_;
    std::vector<os::Thread> threads_;
};

}  // namespace acp::worker
