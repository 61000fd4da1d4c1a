// SPDX-License-Identifier: BSD-3-Clause
// Starts a worker, watches it, and carries out operations in it.
#include "offload/worker_process.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/memory_file.hpp"
#include "os/pipe.hpp"
#include "os/poll_set.hpp"
#include "os/process.hpp"
#include "os/program_file.hpp"

namespace acp::offload {

namespace {

using base::Code;
using call::CallArguments;
using call::CallEnd;
using call::Intent;
using call::WorkerOperation;

// Words of WorkerHead::ready.
enum Ready : std::uint32_t { starting, serving, gone };

call::WorkerHead& head_of(const os::Mapping& memory) noexcept {
    return *reinterpret_cast<call::WorkerHead*>(memory.data());
}

Status check_program(const std::string& path) {
    const char* what = nullptr;
    switch (os::file_kind(path)) {
        case os::FileKind::program:
            return {};
        case os::FileKind::missing:
            what = "does not exist";
            break;
        case os::FileKind::directory:
            what = "is a directory";
            break;
        case os::FileKind::not_executable:
            what = "is not executable";
            break;
    }
    return {Code::argument, "the program of the device process, " + path + ", " + what};
}

// A text as two arguments: its bytes, and their number.
Status add_text(CallArguments& arguments, std::uint32_t index, const std::string& text) {
    if (text.empty() || text.size() > call::worker_page_bytes) {
        return {Code::argument, "a path or name of " + std::to_string(text.size()) +
                                    " characters; 1 to " + std::to_string(call::worker_page_bytes) +
                                    " are possible"};
    }
    Status status =
        arguments.set_buffer(index, Intent::in, const_cast<char*>(text.data()), text.size());
    return status.is_ok() ? arguments.set_integer(index + 1, text.size()) : std::move(status);
}

// How long a process whose end of the pipe was closed may take to end: the kernel closes it shortly
// before it reports the end of a process.
constexpr std::int64_t silent_ns = 50'000'000;

//   memory, life  descriptors that the worker gets
os::ChildPlan child_of(const StartPlan& plan, int memory, int life) {
    os::ChildPlan child;
    child.path = plan.program;
    child.arguments = {"acp-worker",         "--memory", std::to_string(memory),       "--life",
                       std::to_string(life), "--owner",  std::to_string(os::own_pid())};
    child.inherited = {memory, life};
    if (plan.device >= 0) {
        child.arguments.insert(child.arguments.end(),
                               {"--device", std::to_string(plan.device), "--device-bytes",
                                std::to_string(plan.device_bytes), "--device-address",
                                std::to_string(plan.device_address)});
        child.inherited.push_back(plan.device);
    }
    if (plan.dispatches_system_calls) child.arguments.emplace_back("--dispatch");
    child.environment = os::environment();
    return child;
}

}  // namespace

WorkerProcess::WorkerProcess(int process,
                             os::FileDescriptor handle,
                             os::FileDescriptor life,
                             os::FileDescriptor file,
                             os::Mapping memory) noexcept
    : process_(process),
      handle_(std::move(handle)),
      life_(std::move(life)),
      file_(std::move(file)),
      memory_(std::move(memory)),
      end_(process) {}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const StartPlan& plan) {
    if (Status status = check_program(plan.program); !status.is_ok()) return status;
    auto file = os::create_memory_file("acp-worker", call::worker_memory_bytes());
    if (!file.is_ok()) return std::move(file).failure();
    // The head, and the ring of context 0 behind it.
    const int descriptor = file.value().get();
    Status committed = os::commit(descriptor, 0, call::worker_staging_offset(0));
    if (!committed.is_ok()) return committed;
    auto memory = os::Mapping::map_shared(descriptor, call::worker_memory_bytes());
    if (!memory.is_ok()) return std::move(memory).failure();
    head_of(memory.value()).version = call::worker_version;
    auto life = os::make_pipe();
    if (!life.is_ok()) return std::move(life).failure();
    auto child = os::start_child(child_of(plan, descriptor, life.value().writing.get()));
    if (!child.is_ok()) return std::move(child).failure();
    life.value().writing.close();
    auto handle = os::open_process(child.value());
    if (!handle.is_ok()) {
        os::send_signal(child.value(), SIGKILL);
        os::reap(child.value());
        return std::move(handle).failure();
    }
    std::unique_ptr<WorkerProcess> worker(
        new WorkerProcess(child.value(), std::move(handle).value(), std::move(life.value().reading),
                          std::move(file).value(), std::move(memory).value()));
    worker->contexts_[0] = std::make_shared<CallContext>(0, worker->memory_of(0), worker->end_);
    Status status = worker->watch();
    if (status.is_ok()) status = worker->await_ready(plan);
    if (!status.is_ok()) return status;
    return worker;
}

WorkerProcess::~WorkerProcess() {
    if (!end_.has_ended()) os::send_signal(process_, SIGKILL);
    if (watcher_.is_joinable()) {
        watcher_.join();
    } else {
        os::reap(process_);
    }
}

Status WorkerProcess::watch() {
    auto started = os::Thread::start("acp-device", [this] { note_end(await_end()); });
    if (!started.is_ok()) return std::move(started).failure();
    watcher_ = std::move(started).value();
    return {};
}

// Returns whether the worker was silent, and was killed for that.
bool WorkerProcess::await_end() noexcept {
    const int handle = handle_.get();
    while (!os::wait_readable(handle, life_.get(), -1)) continue;
    if (os::has_exited(handle) || os::wait_readable(handle, -1, silent_ns)) return false;
    os::send_signal(process_, SIGKILL);
    while (!os::has_exited(handle)) (void)os::wait_readable(handle, -1, -1);
    return true;
}

void WorkerProcess::note_end(bool was_silent) noexcept {
    const auto ended = os::ended_child(process_);
    if (ended) os::reap(process_);
    end_.note(ended ? std::optional(ended->status) : std::nullopt, was_silent);
    auto& ready = head_of(memory_).ready;
    ready.store(gone, std::memory_order_release);  // partner: await_ready()
    (void)os::futex_wake(ready, os::everybody);
    contexts_[0]->wake_all();  // first: a thread that opens a context holds the mutex
    const std::lock_guard lock(mutex_);
    for (const auto& context : contexts_) {
        if (context != nullptr) context->wake_all();
    }
}

Status WorkerProcess::await_ready(const StartPlan& plan) {
    const auto& ready = head_of(memory_).ready;
    const std::uint64_t begin = os::now_ns();
    for (;;) {
        const std::uint32_t value = ready.load(std::memory_order_acquire);  // partner: the worker
        if (value == serving) return {};
        if (value == gone) return end_.failure().within("before it served a call");
        const std::uint64_t waited = os::now_ns() - begin;
        if (waited >= plan.serving_within_ns) return late(plan);
        (void)os::futex_wait(ready, starting,
                             static_cast<std::int64_t>(plan.serving_within_ns - waited));
    }
}

// Its destructor kills the process.
Status WorkerProcess::late(const StartPlan& plan) const {
    return {Code::timeout, "process " + std::to_string(process_) + " of the device, program " +
                               plan.program + ", did not serve calls within " +
                               std::to_string(plan.serving_within_ns / 1'000'000) +
                               " ms of its start and is killed: the program must be acp-worker, or "
                               "run it with the arguments that it gets"};
}

ContextMemory WorkerProcess::memory_of(std::uint32_t context) noexcept {
    auto* const memory = reinterpret_cast<std::byte*>(memory_.data());
    const std::uint64_t staging = call::worker_staging_offset(context);
    return {call::RingView<>::of(memory + call::worker_ring_offset(context), call::worker_slots),
            memory + staging, file_.get(), staging};
}

Result<std::uint64_t> WorkerProcess::operate(WorkerOperation operation,
                                             std::uint64_t target,
                                             const CallArguments& arguments) {
    CallContext& control = *contexts_[0];
    auto posted = control.post(operation, target, arguments);
    if (!posted.is_ok()) return std::move(posted).failure();
    auto waited = control.wait(posted.value());
    if (!waited.is_ok()) return std::move(waited).failure();
    if (waited.value().end == CallEnd::returned) return waited.value().value;
    if (end_.has_ended()) return end_.failure();
    return Status(Code::mismatch,
                  "the device process has refused an operation: it runs another "
                  "version of ACP");
}

Result<std::uint64_t> WorkerProcess::load(const std::string& path) {
    std::array<char, 1024> words{};
    CallArguments arguments;
    Status status = add_text(arguments, 0, path);
    if (status.is_ok()) status = arguments.set_buffer(2, Intent::out, words.data(), words.size());
    if (status.is_ok()) status = arguments.set_integer(3, words.size());
    if (!status.is_ok()) return status;
    auto loaded = operate(WorkerOperation::load, 0, arguments);
    if (!loaded.is_ok() || loaded.value() != 0) return loaded;
    return Status(Code::argument,
                  "the device process cannot load " + path + ": " +
                      std::string(words.data(), strnlen(words.data(), words.size())));
}

Status WorkerProcess::unload(std::uint64_t library) {
    auto unloaded = operate(WorkerOperation::unload, library, {});
    if (!unloaded.is_ok()) return std::move(unloaded).failure();
    if (unloaded.value() != 0) return {};
    return no_such_library(static_cast<std::int64_t>(library));
}

Status WorkerProcess::no_such_library(std::int64_t number) {
    return {Code::argument, "the device process has no library " + std::to_string(number)};
}

Result<std::uint64_t> WorkerProcess::find_symbol(std::uint64_t library, const std::string& name) {
    CallArguments arguments;
    if (Status status = add_text(arguments, 0, name); !status.is_ok()) return status;
    auto found = operate(WorkerOperation::symbol, library, arguments);
    if (!found.is_ok() || found.value() != 0) return found;
    return Status(Code::argument, "library " + std::to_string(library) +
                                      " of the device process has no symbol \"" + name +
                                      "\", or there is no such library");
}

Result<std::shared_ptr<CallContext>> WorkerProcess::open_context() {
    const std::lock_guard lock(mutex_);
    std::uint32_t free = 1;
    while (free <= contexts_max && contexts_[free] != nullptr) ++free;
    if (free > contexts_max) {
        return Status(Code::limit, "the device process has " + std::to_string(contexts_max) +
                                       " open contexts, and no more are possible: close one");
    }
    const std::uint64_t ring = call::worker_ring_offset(free);
    Status committed = os::commit(file_.get(), ring, call::worker_staging_offset(free) - ring);
    if (!committed.is_ok()) return committed;
    auto opened = operate(WorkerOperation::open, free, {});
    if (!opened.is_ok()) return std::move(opened).failure();
    if (opened.value() == 0) {
        return Status(Code::limit,
                      "the device process cannot start a thread for a context "
                      "(ulimit -u, or its memory)");
    }
    // The worker has cleared the ring.
    auto context = std::make_shared<CallContext>(free, memory_of(free), end_);
    contexts_[free] = context;
    return context;
}

Status WorkerProcess::close_context(CallContext& context) {
    Status status = context.close();
    if (status.code() == Code::stale) return status;
    const std::lock_guard lock(mutex_);
    contexts_[context.number()] = nullptr;
    return status;
}

Status WorkerProcess::leave() {
    auto left = operate(WorkerOperation::leave, 0, {});
    // One that has refused to leave would never end.
    if (!left.is_ok() && !end_.has_ended()) os::send_signal(process_, SIGKILL);
    watcher_.join();
    return left.is_ok() ? Status() : std::move(left).failure();
}

}  // namespace acp::offload
