// SPDX-License-Identifier: BSD-3-Clause
// The states of one call that is a command.
#include "offload/command_call.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "offload/call_context.hpp"
#include "offload/device_calls.hpp"

namespace acp::offload {

Status CommandCall::open(CallContext& context,
                         std::uint64_t function,
                         const call::CallArguments& arguments,
                         std::uint64_t* result) {
    context_ = &context;
    function_ = function;
    result_ = result;
    ended_ = {};
    failure_ = {};
    state_.store(waiting, std::memory_order_relaxed);  // gma's lock publishes it
    try {
        arguments_ = arguments;
        return {};
    } catch (const std::bad_alloc&) {
        return Status::bare(base::Code::memory);
    }
}

void CommandCall::begin(std::uint64_t number) noexcept {
    number_ = number;
    calls_.begin(*this);
}

void CommandCall::lapse() noexcept {
    calls_.release(*this);
}

std::size_t CommandCall::describe(std::span<char> text) const noexcept {
    try {
        const std::string words = calls_.description_of(*this);
        const std::size_t bytes = std::min(words.size(), text.size());
        std::copy_n(words.begin(), bytes, text.begin());
        return bytes;
    } catch (const std::bad_alloc&) {
        return 0;
    }
}

// Either this thread finds the call waiting, and take_ticket() sees that it was cancelled, or it
// finds the ticket, and the ring decides.
bool CommandCall::cancel() noexcept {
    std::uint64_t state = waiting;
    // relaxed, both: the ring's words are atomics of their own
    if (state_.compare_exchange_strong(state, cancelled, std::memory_order_relaxed)) return true;
    return state == cancelled || context_->cancel_ticket(state - first_posted);
}

bool CommandCall::take_ticket(std::uint64_t ticket) noexcept {
    std::uint64_t state = waiting;
    if (state_.compare_exchange_strong(state, first_posted + ticket, std::memory_order_relaxed))
        return true;
    ended_.end = call::CallEnd::cancelled;
    return false;
}

void CommandCall::end(const CallResult& ended) noexcept {
    ended_ = ended;
    if (ended.end != call::CallEnd::returned) return;
    arguments_.fetch_output(staged);
    if (result_ != nullptr) *result_ = ended.value;
}

}  // namespace acp::offload
