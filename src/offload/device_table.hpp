// SPDX-License-Identifier: BSD-3-Clause
// The device processes, contexts and lists of arguments of a rank, by numbers that are never used
// again in the process. A call that has got an object may use it also after another thread has
// destroyed it. Ends all processes when it ends. Any thread.
//
// The table maps device memory into the rank too, at the address where all its device processes have
// it: a pointer of a function is a pointer of the rank, to the same memory.
// Tests: tests/unit/offload/device_table_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "offload/call_context.hpp"
#include "offload/worker_process.hpp"

#include "call/arguments.hpp"

namespace acp::offload {

// A context, and the process that it must not outlive.
struct OpenContext {
    std::shared_ptr<WorkerProcess> process;
    std::shared_ptr<CallContext> context;
};

class DeviceTable {
public:
    //   numbers_given  those that earlier tables of the process have given
    explicit DeviceTable(std::uint64_t numbers_given) noexcept : numbers_given_(numbers_given) {}

    // Kills the processes that were not destroyed; their calls end.
    ~DeviceTable();
    DeviceTable(const DeviceTable&) = delete;
    DeviceTable& operator=(const DeviceTable&) = delete;

    // Starts a process; returns its number.
    //   plan  the device memory is the same in all calls; the table chooses its address
    // Errors: those of WorkerProcess::start().
    Result<std::uint64_t> create_process(StartPlan plan);

    // The device memory in the rank and in its device processes; nullptr before a process that has
    // device memory was created.
    [[nodiscard]] char* device_memory() const;

    // Closes the contexts of a process, waits for their calls, and ends it. Returns how it has
    // ended. Blocks. Errors: stale.
    Result<std::optional<os::WaitStatus>> destroy_process(std::uint64_t number);

    // Errors of these and the next: stale, and those of WorkerProcess.
    Result<std::uint64_t> open_context(std::uint64_t number);
    Status close_context(std::uint64_t number);

    Result<std::uint64_t> create_arguments();
    Status free_arguments(std::uint64_t number);

    // Errors: stale.
    Result<std::shared_ptr<WorkerProcess>> process(std::uint64_t number);
    Result<OpenContext> context(std::uint64_t number);
    Result<std::shared_ptr<call::CallArguments>> arguments(std::uint64_t number);

    // Kills all processes, so that threads that wait for their calls return.
    void end_all() noexcept;

    [[nodiscard]] std::uint64_t numbers_given() const;

private:
    Status map_window(StartPlan& plan);

    mutable std::mutex mutex_;
    std::uint64_t numbers_given_;
    os::Mapping window_;  // the device memory, once there was a process
    std::map<std::uint64_t, std::shared_ptr<WorkerProcess>> processes_;
    std::map<std::uint64_t, OpenContext> contexts_;
    std::map<std::uint64_t, std::shared_ptr<call::CallArguments>> arguments_;
};

}  // namespace acp::offload
