// SPDX-License-Identifier: BSD-3-Clause
// The thread of a context in a worker process: serves the context's ring, one call after the other.
// Functions that fault or throw are answered so, and the thread serves the next call. Waits for
// calls by polling for a moment, then asleep on the ring's bell. Knows the operations of contexts,
// not those of the process, which its owner handles. One thread.
// Tests: tests/unit/worker/context_server_test.cpp.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.hpp"
#include "os/fault_guard.hpp"

#include "call/function_call.hpp"
#include "call/ring.hpp"
#include "call/worker_memory.hpp"

namespace acp::worker {

// The answer to an operation of the process.
struct OperationResult {
    call::CallEnd end = call::CallEnd::returned;
    std::uint64_t result = 0;
    bool is_last = false;  // the server ends after this call
};

class ContextServer {
public:
    // Carries out an operation of the process; arguments are decoded.
    using Operate = std::function<OperationResult(
        call::WorkerOperation, std::uint64_t target, const call::FunctionArguments&)>;

    //   operate  called for all operations but `function` and `close`; refuses those that the
    //            context does not have
    ContextServer(const call::RingView<>& ring,
                  const call::ServerMemory& memory,
                  os::FaultGuard& guard,
                  Operate operate)
        : server_(ring), memory_(memory), guard_(guard), operate_(std::move(operate)) {}

    // Serves until `close`, or until an operation is the last one. Blocks.
    void serve();

private:
    using Claimed = call::RingServer<>::Claimed;

    [[nodiscard]] OperationResult carry_out(const Claimed& call);
    [[nodiscard]] OperationResult call_guarded(std::uint64_t function, call::ResultKind result);
    void wake_client() noexcept;

    call::RingServer<> server_;
    call::ServerMemory memory_;
    os::FaultGuard& guard_;
    Operate operate_;
    call::FunctionArguments arguments_;  // decoded for the running call
};

}  // namespace acp::worker
