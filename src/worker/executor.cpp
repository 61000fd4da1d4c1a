// SPDX-License-Identifier: BSD-3-Clause
// Checks, makes and answers system calls.
#include "worker/executor.hpp"

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "os/adaptive_poll.hpp"
#include "os/futex.hpp"
#include "os/system_call.hpp"

#include "call/system_call_work.hpp"
#include "worker/await_call.hpp"

namespace acp::worker {

using call::CallEnd;
using call::SystemCall;
using call::SystemCallRecord;
using call::SystemCallWork;

namespace {

// Whether a call may have raised SIGPIPE or SIGXFSZ, which the thread blocks. A pipe raises it also
// where it has taken some of the bytes.
[[nodiscard]] bool may_have_raised(const SystemCallRecord& record, std::int64_t result) noexcept {
    if (result < 0) return result == -EPIPE || result == -EFBIG;
    const bool is_write = record.call == SystemCall::write || record.call == SystemCall::writev;
    return is_write && static_cast<std::uint64_t>(result) < record.words[2];
}

}  // namespace

void SystemCallExecutor::serve() {
    std::atomic<std::uint32_t>& served = memory_.served();
    for (;;) {
        // acquire: partner is the device process's store; the ring is its own from then on
        const std::uint32_t wanted = served.load(std::memory_order_acquire);
        while (threads_.size() < wanted && threads_.size() < memory_.callers()) {
            const auto caller = static_cast<std::uint32_t>(threads_.size());
            auto started =
                os::Thread::start("acp-executor", [this, caller] { serve_caller(caller); });
            if (!started.is_ok()) std::_Exit(EXIT_FAILURE);  // its callers notice
            threads_.push_back(std::move(started).value());
        }
        (void)os::futex_wait(served, wanted, -1);
    }
}

void SystemCallExecutor::serve_caller(std::uint32_t caller) {
    call::RingServer<> server(memory_.ring(caller));
    (void)server.begin();
    SystemCallWork work(memory_.staging(caller).data());
    auto& head = memory_.head(caller);
    os::AdaptivePoll poll;
    for (;;) {
        const auto call = await_call(server, [&](const auto& has_call) {
            if (head.is_on_cpu_of(head.caller_cpu, head.executor_cpu)) return has_call();
            return poll.poll(has_call);
        });
        const SystemCallRecord record = call::record_of(call);
        CallEnd end = CallEnd::refused;
        std::int64_t result = 0;
        int signal = 0;
        if (!call.is_cancelled() && work.take(record)) {
            end = CallEnd::returned;
            result = os::system_call(work.number(), work.words());
            work.finish();
            if (may_have_raised(record, result)) signal = os::take_write_signal();
        }
        // relaxed: the answer releases it
        head.signal.store(static_cast<std::uint32_t>(signal), std::memory_order_relaxed);
        if (server.answer(call, end, static_cast<std::uint64_t>(result)))
            (void)os::futex_wake(server.head().client_bell.word(), os::everybody);
    }
}

}  // namespace acp::worker
