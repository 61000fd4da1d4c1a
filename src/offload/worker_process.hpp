// SPDX-License-Identifier: BSD-3-Clause
// A worker process (acp-worker), as the process that has started it knows it: starts it, carries
// out operations in it, notices its end at once, and ends it. Knows no global address; device
// memory is a file that the worker maps. Any thread.
// Tests: tests/unit/offload/worker_process_test.cpp.
//
// DEATHS. A thread of this object waits for the end of the worker, then notes it and wakes all
// waiters; their calls end as `ended`. If this process ends, the worker ends itself. A stopped
// worker delays its callers; a kill ends it then too. The worker holds an end of a pipe, which an
// exec in the worker closes: a process that runs on without it serves no more, and is killed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "offload/call_context.hpp"
#include "offload/worker_end.hpp"
#include "os/child.hpp"
#include "os/file_descriptor.hpp"
#include "os/mapping.hpp"
#include "os/thread.hpp"

#include "call/arguments.hpp"
#include "call/worker_memory.hpp"

namespace acp::offload {

using base::Result;
using base::Status;

// How to start a worker.
struct StartPlan {
    std::string program;                   // path of acp-worker, or of a program that does the same
    int device = -1;                       // file whose content is the device memory; -1: none
    std::uint64_t device_bytes = 0;        // mapped by the worker
    std::uintptr_t device_address = 0;     // where; 0: anywhere
    bool dispatches_system_calls = false;  // all of functions, not acp_sys_write() and so on alone
    // How long the program may take until it serves calls. acp-worker takes some milliseconds; the
    // rest is for machines that are overloaded, or load programs from afar.
    std::uint64_t serving_within_ns = 30'000'000'000;
};

class WorkerProcess {
public:
    // Starts a worker and waits until it serves. Blocks, for plan.serving_within_ns at most.
    // Errors: argument (no such program), limit, memory, peer (the worker has ended before it
    // served; the message says how), timeout (the program did not serve in time, and was killed),
    // system.
    static Result<std::unique_ptr<WorkerProcess>> start(const StartPlan& plan);

    // Kills the worker if it has not ended, and waits for its end.
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    // The process id; once the process has ended, another process may have it.
    [[nodiscard]] int process() const noexcept { return process_; }

    [[nodiscard]] const WorkerEnd& end() const noexcept { return end_; }

    // Loads a library in the worker; returns its number, which is not 0. Blocks.
    // Errors: argument (the loader has refused it: its words; or the path is too long), peer.
    Result<std::uint64_t> load(const std::string& path);

    // Errors: argument (no such library), peer. Blocks.
    Status unload(std::uint64_t library);

    // The failure of a call that names a library that is not loaded.
    static Status no_such_library(std::int64_t number);

    // The address of a symbol in the worker, which is not 0. Blocks.
    // Errors: argument (no such library or symbol, or too long a name), peer.
    Result<std::uint64_t> find_symbol(std::uint64_t library, const std::string& name);

    // Opens a context: a thread of the worker that runs calls in their order. Blocks.
    // Errors: limit (contexts_max are open, or the worker can start no thread), peer.
    Result<std::shared_ptr<CallContext>> open_context();

    // Waits for the calls of a context, and ends it. The object stays until its last user has left
    // it; later calls on it fail with `stale`. Blocks. Errors: those of CallContext::close().
    Status close_context(CallContext& context);

    // Lets the worker end by itself, with exit code 0, without waiting for calls that run; waits
    // for its end. Blocks. Errors: peer (it had ended before).
    Status leave();

    static constexpr std::uint32_t contexts_max = call::worker_contexts - 1;

private:
    WorkerProcess(int process,
                  os::FileDescriptor handle,
                  os::FileDescriptor life,
                  os::FileDescriptor file,
                  os::Mapping memory) noexcept;

    Status watch();
    Status await_ready(const StartPlan& plan);
    [[nodiscard]] Status late(const StartPlan& plan) const;
    [[nodiscard]] bool await_end() noexcept;
    void note_end(bool was_silent) noexcept;
    [[nodiscard]] ContextMemory memory_of(std::uint32_t context) noexcept;
    // Carries out an operation on context 0; the result's word.
    Result<std::uint64_t> operate(call::WorkerOperation operation,
                                  std::uint64_t target,
                                  const call::CallArguments& arguments);

    int process_;
    os::FileDescriptor handle_;  // pidfd
    os::FileDescriptor life_;    // hung up once the worker has closed the other end
    os::FileDescriptor file_;    // maps to memory_
    os::Mapping memory_;
    WorkerEnd end_;
    std::mutex mutex_;  // guards contexts_
    // [0] carries the operations. An entry is empty if its context is closed.
    std::array<std::shared_ptr<CallContext>, call::worker_contexts> contexts_;
    os::Thread watcher_;
};

}  // namespace acp::offload
