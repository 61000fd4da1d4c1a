// SPDX-License-Identifier: BSD-3-Clause
// Claims, decodes, calls, answers.
#include "worker/context_server.hpp"

#include <array>

#include "os/brief_poll.hpp"
#include "os/futex.hpp"
#include "os/system_call_dispatch.hpp"

#include "worker/await_call.hpp"

namespace acp::worker {

using call::CallEnd;
using call::CallShape;
using call::WorkerOperation;

void ContextServer::serve() {
    if (server_.begin()) wake_client();
    for (;;) {
        const Claimed call =
            await_call(server_, [](const auto& has_call) { return os::poll_briefly(has_call); });
        OperationResult done;
        if (!call.is_cancelled()) done = carry_out(call);
        if (server_.answer(call, done.end, done.result)) wake_client();
        if (done.is_last) return;
    }
}

OperationResult ContextServer::carry_out(const Claimed& call) {
    const CallShape shape = CallShape::of(call.shape());
    const std::uint64_t target = call.target();
    std::array<std::uint64_t, call::slot_words> words;  // NOLINT: as many as count are read
    const std::uint32_t in_slot = shape.is_in_slot() ? shape.count : 2;
    for (std::uint32_t i = 0; i < in_slot; ++i) words[i] = call.word(i);
    if (!call::decode_arguments(shape, words, memory_, arguments_).is_ok())
        return {CallEnd::refused, 0, false};
    const auto operation = static_cast<WorkerOperation>(shape.operation);
    if (operation == WorkerOperation::function) return call_guarded(target, shape.result);
    if (operation == WorkerOperation::close) return {CallEnd::returned, 0, true};
    return operate_(operation, target, arguments_);
}

OperationResult ContextServer::call_guarded(std::uint64_t function, call::ResultKind result) {
    struct GuardedCall {
        std::uint64_t function = 0;
        const call::FunctionArguments& arguments;
        call::ResultKind kind = call::ResultKind::integer;
        OperationResult done;
    } guarded{function, arguments_, result, {}};

    const auto body = [](void* argument) noexcept {
        GuardedCall& inside = *static_cast<GuardedCall*>(argument);
        try {
            inside.done.result =
                call::call_function(inside.function, inside.arguments, inside.kind);
        } catch (...) {
            inside.done.end = CallEnd::thrown;
        }
    };
    os::dispatch_system_calls(true);
    const int signal = guard_.run(body, &guarded);
    os::dispatch_system_calls(false);
    if (signal != 0) return {CallEnd::faulted, static_cast<std::uint64_t>(signal), false};
    return guarded.done;
}

void ContextServer::wake_client() noexcept {
    (void)os::futex_wake(server_.head().client_bell.word(), os::everybody);
    for (const auto& place : server_.head().owner_bells) {
        // relaxed: the call that was answered has acquired it
        const std::uint64_t offset = place.load(std::memory_order_relaxed);
        const std::uint64_t bytes = memory_.device.size();
        if (offset == 0 || offset % alignof(sync::Bell<>) != 0 || offset >= bytes ||
            bytes - offset < sizeof(sync::Bell<>)) {
            continue;
        }
        // A sleeper announces itself on this bell first, then on client_bell, whose ring came before.
        auto& bell = *reinterpret_cast<sync::Bell<>*>(memory_.device.data() + offset);
        if (bell.ring()) (void)os::futex_wake(bell.word(), os::everybody);
    }
}

}  // namespace acp::worker
