// SPDX-License-Identifier: BSD-3-Clause
// A call of a function of a device that is a command with a handle (acp_call): its arguments until it
// begins, its place in the context's ring while it is in flight, and its end. DeviceCalls owns the
// objects and uses them again. gma calls begin() and lapse(), a context the functions of its call
// under its lock, and any thread cancel().
// Tests: tests/unit/offload/device_calls_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.hpp"
#include "gma/layer_command.hpp"
#include "offload/call_result.hpp"

#include "call/arguments.hpp"

namespace acp::offload {

using base::Status;

class CallContext;
class DeviceCalls;

class CommandCall final : public gma::LayerCommand {
public:
    explicit CommandCall(DeviceCalls& calls) noexcept : calls_(calls) {}

    // Prepares the object for a call, or for another one.
    //   result  written if the function returns; may be nullptr
    // Errors: memory.
    Status open(CallContext& context,
                std::uint64_t function,
                const call::CallArguments& arguments,
                std::uint64_t* result);

    void begin(std::uint64_t number) noexcept override;
    void lapse() noexcept override;

    [[nodiscard]] std::string_view call_name() const noexcept override { return "acp_call"; }

    [[nodiscard]] std::size_t describe(std::span<char> text) const noexcept override;

    // True: the function will not run.
    bool cancel() noexcept override;

    [[nodiscard]] CallContext& context() const noexcept { return *context_; }

    [[nodiscard]] std::uint64_t function() const noexcept { return function_; }

    [[nodiscard]] const call::CallArguments& arguments() const noexcept { return arguments_; }

    // The number of the command; valid from begin() on.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

    // For the context, under its lock.

    // The call gets a ticket of the ring, and is posted next. False: it was cancelled before.
    [[nodiscard]] bool take_ticket(std::uint64_t ticket) noexcept;

    // Where the input lies, and what frees it. Of a call that is in flight.
    std::uint64_t staged_end = 0;
    const std::byte* staged = nullptr;

    // The call is over. Copies the output of a function that has returned.
    void end(const CallResult& ended) noexcept;

    // It fails before it was posted.
    void fail(Status failure) noexcept { failure_ = std::move(failure); }

    [[nodiscard]] const CallResult& ended() const noexcept { return ended_; }

    // What fail() was given; ok: none.
    [[nodiscard]] Status take_failure() noexcept { return std::move(failure_); }

    CommandCall* next = nullptr;  // in the list of the context, or of DeviceCalls, that it is in

private:
    // Values of state_ below first_posted; others are first_posted + ticket.
    enum : std::uint64_t { waiting, cancelled, first_posted };

    DeviceCalls& calls_;
    CallContext* context_ = nullptr;  // outlives the call: DeviceCalls keeps it
    std::uint64_t function_ = 0;
    std::uint64_t* result_ = nullptr;
    std::uint64_t number_ = 0;
    call::CallArguments arguments_;
    CallResult ended_;
    Status failure_;
    std::atomic<std::uint64_t> state_{waiting};
};

// A list of calls in the order in which they were put in.
class CommandCallList {
public:
    [[nodiscard]] bool is_empty() const noexcept { return first_ == nullptr; }

    [[nodiscard]] CommandCall* first() const noexcept { return first_; }

    void append(CommandCall& call) noexcept {
        call.next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = &call;
        last_ = &call;
    }

    CommandCall& take_first() noexcept {
        CommandCall& call = *first_;
        first_ = call.next;
        return call;
    }

private:
    CommandCall* first_ = nullptr;
    CommandCall* last_ = nullptr;
};

}  // namespace acp::offload
