// SPDX-License-Identifier: BSD-3-Clause
// A worker process: what acp-worker runs. Serves the operations of its owner, the process that has
// started it, on context 0, and functions on contexts with a thread each, whose system calls an executor
// makes. Ends when its owner says so, or has ended. Its main thread; run() starts the others.
// Tests: tests/unit/offload/worker_process_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"
#include "os/mapping.hpp"
#include "os/thread.hpp"

#include "call/function_call.hpp"
#include "call/worker_memory.hpp"
#include "worker/context_server.hpp"
#include "worker/libraries.hpp"
#include "worker/system_calls.hpp"

namespace acp::worker {

using base::Result;
using base::Status;

// What the owner passes on the command line; descriptors are inherited.
struct WorkerPlan {
    int memory = -1;                       // laid out as call/worker_memory.hpp
    int life = -1;                         // closed when this program ends, or runs another one
    int device = -1;                       // file whose content is the device memory; -1: none
    std::uint64_t device_bytes = 0;        // bytes of it to map
    std::uintptr_t device_address = 0;     // where to map them; 0: anywhere
    int owner = 0;                         // process id
    bool dispatches_system_calls = false;  // all calls of functions go to the executor
};

class Worker {
public:
    // Maps the memory. Errors: state (a descriptor is not what it should be, the memory has another
    // version, the owner has ended), memory, limit, system.
    static Result<std::unique_ptr<Worker>> create(const WorkerPlan& plan);

    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Serves until the owner ends it. Ends the process if the owner has ended. Errors: memory,
    // limit, system: nothing was served.
    Status run();

private:
    struct Context;

    Worker(os::Mapping memory,
           os::Mapping device,
           os::FileDescriptor owner,
           bool dispatches_system_calls) noexcept;

    Status watch_owner();
    [[nodiscard]] call::RingView<> ring_of(std::uint32_t context) noexcept;
    [[nodiscard]] call::ServerMemory memory_of(std::uint32_t context) noexcept;
    [[nodiscard]] OperationResult operate(call::WorkerOperation operation,
                                          std::uint64_t target,
                                          const call::FunctionArguments& arguments);
    [[nodiscard]] OperationResult load(const call::FunctionArguments& arguments);
    [[nodiscard]] OperationResult open(std::uint64_t number);
    [[nodiscard]] OperationResult find_symbol(std::uint64_t library,
                                              const call::FunctionArguments& arguments);

    os::Mapping memory_;
    os::Mapping device_;
    os::FileDescriptor owner_;  // pidfd
    bool dispatches_system_calls_;
    std::unique_ptr<SystemCalls> system_calls_;
    Libraries libraries_;
    std::array<os::Thread, call::worker_contexts> threads_;  // [0]: none, it is the main thread
    os::Thread watcher_;
};

}  // namespace acp::worker
