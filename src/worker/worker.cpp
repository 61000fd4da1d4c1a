// SPDX-License-Identifier: BSD-3-Clause
// The operations of a worker process.
#include "worker/worker.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "os/fault_guard.hpp"
#include "os/futex.hpp"
#include "os/memory_file.hpp"
#include "os/pipe.hpp"
#include "os/poll_set.hpp"
#include "os/process.hpp"
#include "os/system_call_dispatch.hpp"

#include "device_side/system_calls.hpp"

namespace acp::worker {

namespace {

using base::Code;
using call::CallEnd;
using call::FunctionArguments;
using call::WorkerOperation;

constexpr std::uint64_t context_stack_bytes = std::uint64_t{8} << 20U;
constexpr OperationResult refused{CallEnd::refused, 0, false};

// The memory of a buffer argument.
[[nodiscard]] char* buffer_of(const FunctionArguments& arguments, std::uint32_t index) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): arguments of a function are words
    return reinterpret_cast<char*>(static_cast<std::uintptr_t>(arguments.words[index]));
}

// The text of a buffer argument, which is followed by an argument with its bytes.
[[nodiscard]] std::string text_of(const FunctionArguments& arguments, std::uint32_t index) {
    return {buffer_of(arguments, index), static_cast<std::size_t>(arguments.words[index + 1])};
}

[[nodiscard]] bool has_text(const FunctionArguments& arguments, std::uint32_t index) {
    return arguments.count >= index + 2 && arguments.words[index + 1] <= call::worker_page_bytes;
}

//   address  0: anywhere
Result<os::Mapping> map(int descriptor, std::uint64_t bytes, std::uintptr_t address = 0) {
    auto file = os::adopt_memory_file(descriptor);
    if (!file.is_ok()) return std::move(file).failure();
    if (address == 0) return os::Mapping::map_shared(file.value().get(), bytes);
    return os::Mapping::map_shared_at(address, call::worker_pages(bytes), file.value().get(), 0);
}

}  // namespace

Worker::Worker(os::Mapping memory,
               os::Mapping device,
               os::FileDescriptor owner,
               bool dispatches_system_calls) noexcept
    : memory_(std::move(memory)),
      device_(std::move(device)),
      owner_(std::move(owner)),
      dispatches_system_calls_(dispatches_system_calls) {}

Worker::~Worker() = default;

Result<std::unique_ptr<Worker>> Worker::create(const WorkerPlan& plan) {
    if (Status status = os::set_close_on_exec(plan.life); !status.is_ok()) return status;
    auto owner = os::open_process(plan.owner);
    if (!owner.is_ok()) return std::move(owner).failure();
    auto memory = map(plan.memory, call::worker_memory_bytes());
    if (!memory.is_ok()) return std::move(memory).failure();
    const auto& head = *reinterpret_cast<const call::WorkerHead*>(memory.value().data());
    if (head.version != call::worker_version) {
        return Status(Code::state,
                      "the memory of the process that started this program has version " +
                          std::to_string(head.version) + ", this program has version " +
                          std::to_string(call::worker_version) +
                          ": use acp-worker and libacp of the same installation");
    }
    os::Mapping device;
    if (plan.device >= 0 && plan.device_bytes != 0) {
        auto mapped = map(plan.device, plan.device_bytes, plan.device_address);
        if (!mapped.is_ok()) return std::move(mapped).failure();
        device = std::move(mapped).value();
    }
    return std::unique_ptr<Worker>(new Worker(std::move(memory).value(), std::move(device),
                                              std::move(owner).value(),
                                              plan.dispatches_system_calls));
}

call::RingView<> Worker::ring_of(std::uint32_t context) noexcept {
    auto* const ring = memory_.data() + call::worker_ring_offset(context);
    return call::RingView<>::of(reinterpret_cast<std::byte*>(ring), call::worker_slots);
}

call::ServerMemory Worker::memory_of(std::uint32_t context) noexcept {
    auto* const staging = memory_.data() + call::worker_staging_offset(context);
    return {{reinterpret_cast<std::byte*>(staging), call::worker_staging_bytes},
            {reinterpret_cast<std::byte*>(device_.data()), device_.bytes()}};
}

Status Worker::watch_owner() {
    // A process that ends leaves no code of this one running, whatever its functions do.
    auto watcher = os::Thread::start("acp-owner", [this] {
        while (!os::has_exited(owner_.get())) (void)os::wait_readable(owner_.get(), -1, -1);
        std::_Exit(EXIT_FAILURE);
    });
    if (!watcher.is_ok()) return std::move(watcher).failure();
    watcher_ = std::move(watcher).value();
    return {};
}

Status Worker::run() {
    // First: the executor's memory is a copy of that of this process with its one thread.
    auto calls = SystemCalls::start(call::worker_contexts - 1);
    if (!calls.is_ok()) return std::move(calls).failure();
    system_calls_ = std::move(calls).value();
    if (Status status = watch_owner(); !status.is_ok()) return status;
    auto guard = os::FaultGuard::create();
    if (!guard.is_ok()) return std::move(guard).failure();
    ContextServer server(ring_of(0), memory_of(0), *guard.value(),
                         [this](WorkerOperation operation, std::uint64_t target,
                                const FunctionArguments& arguments) {
                             return operate(operation, target, arguments);
                         });
    auto& head = *reinterpret_cast<call::WorkerHead*>(memory_.data());
    head.ready.store(1, std::memory_order_release);  // partner: WorkerProcess, which waits for it
    (void)os::futex_wake(head.ready, os::everybody);
    server.serve();
    // Other threads may be inside functions; the process ends with them.
    (void)std::fflush(nullptr);
    system_calls_->end();
    std::_Exit(EXIT_SUCCESS);
}

OperationResult Worker::operate(WorkerOperation operation,
                                std::uint64_t target,
                                const FunctionArguments& arguments) {
    switch (operation) {
        case WorkerOperation::load:
            return load(arguments);
        case WorkerOperation::unload:
            return {CallEnd::returned, libraries_.unload(target), false};
        case WorkerOperation::symbol:
            return find_symbol(target, arguments);
        case WorkerOperation::open:
            return open(target);
        case WorkerOperation::leave:
            return {CallEnd::returned, 0, true};
        case WorkerOperation::function:
        case WorkerOperation::close:
            break;
    }
    return refused;
}

OperationResult Worker::load(const FunctionArguments& arguments) {
    if (!has_text(arguments, 0) || !has_text(arguments, 2)) return refused;
    auto loaded = libraries_.load(text_of(arguments, 0));
    if (loaded.is_ok()) return {CallEnd::returned, loaded.value(), false};
    // The failure's words, cut to the room for them.
    char* const room = buffer_of(arguments, 2);
    const Status failure = std::move(loaded).failure();
    const std::string words(failure.message());
    const std::size_t bytes = std::min<std::size_t>(words.size() + 1, arguments.words[3]);
    if (bytes != 0) {
        std::memcpy(room, words.c_str(), bytes);
        room[bytes - 1] = '\0';
    }
    return {CallEnd::returned, 0, false};
}

OperationResult Worker::find_symbol(std::uint64_t library, const FunctionArguments& arguments) {
    if (!has_text(arguments, 0)) return refused;
    return {CallEnd::returned, libraries_.find(library, text_of(arguments, 0)), false};
}

OperationResult Worker::open(std::uint64_t number) {
    if (number == 0 || number >= call::worker_contexts) return refused;
    const auto context = static_cast<std::uint32_t>(number);
    threads_[context].join();  // of the context that had this number: it has answered `close`
    const call::RingView<> ring = ring_of(context);
    std::memset(static_cast<void*>(ring.head), 0, call::ring_bytes(call::worker_slots));
    auto started = os::Thread::start(
        "acp-context",
        [this, ring, context] {
            auto guard = os::FaultGuard::create();
            // Without it the first fault ends the process, which its owner notices.
            if (!guard.is_ok()) std::_Exit(EXIT_FAILURE);
            system_calls_->serve_thread(context - 1, *guard.value());
            if (dispatches_system_calls_ &&
                !os::prepare_system_call_dispatch(device_side::make_call_by_number).is_ok())
                std::_Exit(EXIT_FAILURE);
            ContextServer(ring, memory_of(context), *guard.value(), [](auto...) {
                return refused;
            }).serve();
        },
        context_stack_bytes);
    if (!started.is_ok()) return {CallEnd::returned, 0, false};
    threads_[context] = std::move(started).value();
    return {CallEnd::returned, number, false};
}

}  // namespace acp::worker
