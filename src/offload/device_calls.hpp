// SPDX-License-Identifier: BSD-3-Clause
// The calls of functions of devices that are commands with handles (acp_call), of all contexts of a
// rank: issues them to gma, posts them to the ring of their context when the commands have ended
// that they are ordered after, and ends them with the answers of the device process. A context begins
// its calls in the order in which they become ready.
//
// Any thread issues a CommandCall; gma begins it, and its CallContext posts it, or keeps it until the
// ring has room. Threads that make progress, and the CallThread, poll the contexts, which take
// answers; then the calls that are over end in gma, and their objects are free again. When a thread
// sleeps, the next answer of each context rings the bells of this rank.
//
// One for each epoch of a rank. Any thread. Lock order: mutex_, a context's lock, gma's lock.
// Tests: tests/unit/offload/device_calls_test.cpp, tests/offload/commands_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gma/command_layer.hpp"
#include "gma/gma.hpp"
#include "node/member.hpp"
#include "offload/call_context.hpp"
#include "offload/call_thread.hpp"
#include "offload/command_call.hpp"
#include "offload/device_table.hpp"
#include "offload/function_names.hpp"

#include "call/arguments.hpp"

namespace acp::offload {

class DeviceCalls final : public gma::CommandLayer {
public:
    // All must outlive this.
    //   rank  in messages: " by rank 2 on host"
    DeviceCalls(gma::Gma& gma, const node::Member& member, std::string rank);

    // No call is outstanding; other threads may poll.
    ~DeviceCalls() override;
    DeviceCalls(const DeviceCalls&) = delete;
    DeviceCalls& operator=(const DeviceCalls&) = delete;

    // Issues a call; its handle. Waits while there is no room for a command.
    //   arguments  copied. The contents of `in` buffers are read when the call begins; they and the
    //              memory of `out` buffers must stay until the handle has ended
    //   result     written if the function returns, before the handle ends; may be nullptr
    //   order      a handle of gma
    // Errors: memory, limit, system (the thread for the ends of calls cannot be started).
    Result<gma::Handle> issue(const OpenContext& where,
                              std::uint64_t function,
                              const call::CallArguments& arguments,
                              std::uint64_t* result,
                              gma::Handle order);

    bool poll() noexcept override;
    void announce_sleep() noexcept override;

    // For CommandCall.
    void begin(CommandCall& call) noexcept;
    void release(CommandCall& call) noexcept;
    [[nodiscard]] std::string description_of(const CommandCall& call) const;

    // The names of functions that the program has looked up.
    [[nodiscard]] FunctionNames& names() noexcept { return names_; }

private:
    Result<CommandCall*> open(const OpenContext& where,
                              std::uint64_t function,
                              const call::CallArguments& arguments,
                              std::uint64_t* result);
    Result<CommandCall*> take_call();
    Status join(const OpenContext& where);
    void sweep();
    void deliver(CommandCallList over) noexcept;
    void release_all(CommandCallList over) noexcept;
    [[nodiscard]] Status status_of(CommandCall& call) const noexcept;
    [[nodiscard]] std::string ended_text(const CommandCall& call) const;

    gma::Gma& gma_;
    const node::Member& member_;
    std::string by_rank_;
    sync::Bell<>& bell_;
    FunctionNames names_;
    std::mutex mutex_;                   // guards contexts_; held while they are polled
    std::vector<OpenContext> contexts_;  // those with calls since sweep()
    std::mutex pool_mutex_;              // guards the next two
    std::vector<std::unique_ptr<CommandCall>> made_;
    CommandCallList free_;
    std::atomic<std::uint64_t> visits_{0};
    std::atomic<std::size_t> contexts_count_{0};  // size of contexts_
    std::mutex starting_;
    std::atomic<bool> has_thread_{false};
    CallThread thread_;
};

}  // namespace acp::offload
