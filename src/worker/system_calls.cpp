// SPDX-License-Identifier: BSD-3-Clause
// Starts the executor and hands its callers to threads.
#include "worker/system_calls.hpp"

#include <utility>

#include "os/futex.hpp"

#include "device_side/system_calls.hpp"
#include "worker/executor.hpp"

namespace acp::worker {

SystemCalls::SystemCalls(SystemCallMemory memory) : memory_(std::move(memory)) {
    for (std::uint32_t i = 0; i < memory_.callers(); ++i)
        callers_.emplace_back(memory_, i, has_ended_);
}

Result<std::unique_ptr<SystemCalls>> SystemCalls::start(std::uint32_t callers) {
    auto memory = SystemCallMemory::create(callers);
    if (!memory.is_ok()) return std::move(memory).failure();
    std::unique_ptr<SystemCalls> calls(new SystemCalls(std::move(memory).value()));
    auto companion = os::Companion::start(
        "acp-executor", [own = calls.get()] { SystemCallExecutor(own->memory_).serve(); },
        [own = calls.get()] { own->note_end(); });
    if (!companion.is_ok()) return std::move(companion).failure();
    calls->companion_ = std::move(companion).value();
    return calls;
}

void SystemCalls::end() noexcept {
    is_leaving_.store(true, std::memory_order_release);  // partner: note_end()
    companion_.reset();
}

void SystemCalls::note_end() noexcept {
    if (is_leaving_.load(std::memory_order_acquire)) return;
    has_ended_.store(true, std::memory_order_release);  // partner: SystemCaller
    for (SystemCaller& caller : callers_) caller.wake();
}

void SystemCalls::serve_thread(std::uint32_t number, os::FaultGuard& guard) noexcept {
    std::atomic<std::uint32_t>& served = memory_.served();
    // release: the ring was there before; partner is the executor
    std::uint32_t had = served.load(std::memory_order_relaxed);
    while (had < number + 1 &&
           !served.compare_exchange_weak(had, number + 1, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
    if (had < number + 1) (void)os::futex_wake(served, os::everybody);
    SystemCaller& caller = callers_[number];
    caller.begin_thread(guard);
    device_side::set_carrier(
        [](void* carrier, call::SystemCall call, const call::SystemCallWords& words) noexcept {
            return static_cast<SystemCaller*>(carrier)->call(call, words);
        },
        &caller);
}

}  // namespace acp::worker
