// SPDX-License-Identifier: BSD-3-Clause
// Issues, begins and ends calls of devices that are commands.
#include "offload/device_calls.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <utility>

#include "offload/call_bell.hpp"
#include "os/signal_fd.hpp"

namespace acp::offload {

namespace {

using base::Code;
using call::CallEnd;

}  // namespace

DeviceCalls::DeviceCalls(gma::Gma& gma, const node::Member& member, std::string rank)
    : gma_(gma),
      member_(member),
      by_rank_(std::move(rank)),
      bell_(call_bell_of(member)),
      thread_(bell_,
              {.poll = [this] { return gma_.layer_commands().poll(); },
               .announce = [this] { announce_sleep(); },
               .visits = [this] { return visits_.load(std::memory_order_relaxed); }}) {
    gma_.layer_commands().add(*this);
}

DeviceCalls::~DeviceCalls() {
    thread_.stop();
    gma_.layer_commands().remove(*this);  // no other thread polls from now on
    for (const OpenContext& each : contexts_) each.context->leave_commands();
}

Result<CommandCall*> DeviceCalls::take_call() {
    const std::scoped_lock lock(pool_mutex_);
    if (!free_.is_empty()) return &free_.take_first();
    try {
        made_.push_back(std::make_unique<CommandCall>(*this));
        return made_.back().get();
    } catch (const std::bad_alloc&) {
        return Status::bare(Code::memory);
    }
}

void DeviceCalls::release(CommandCall& call) noexcept {
    CommandCallList over;
    over.append(call);
    release_all(over);
}

void DeviceCalls::release_all(CommandCallList over) noexcept {
    const std::scoped_lock lock(pool_mutex_);
    while (!over.is_empty()) {
        CommandCall& call = over.take_first();
        call.context().count_command(-1);
        free_.append(call);
    }
}

// Takes a context in that has its first call, and starts the thread for the ends of calls.
Status DeviceCalls::join(const OpenContext& where) {
    if (where.context->is_joined()) [[likely]]
        return {};
    const std::scoped_lock starting(starting_);
    if (where.context->is_joined()) return {};
    if (!has_thread_.load(std::memory_order_relaxed)) {
        if (Status status = thread_.start(); !status.is_ok()) return status;
        has_thread_.store(true, std::memory_order_relaxed);
    }
    sweep();
    {
        const std::scoped_lock lock(mutex_);
        try {
            contexts_.push_back(where);
        } catch (const std::bad_alloc&) {
            return Status::bare(Code::memory);
        }
        contexts_count_.store(contexts_.size(), std::memory_order_relaxed);
    }
    where.context->join_commands({&member_.slot().door.waiter_bell, &bell_},
                                 member_.segment().base());
    thread_.wake();  // it has not announced itself to this context
    return {};
}

// Lets go of contexts that were closed and have no calls left.
void DeviceCalls::sweep() {
    std::vector<OpenContext>
        over;  // may hold the last reference to a process, which takes long to end
    const std::scoped_lock lock(mutex_);
    const auto rest =
        std::stable_partition(contexts_.begin(), contexts_.end(),
                              [](const OpenContext& each) { return !each.context->is_over(); });
    over.assign(std::make_move_iterator(rest), std::make_move_iterator(contexts_.end()));
    contexts_.erase(rest, contexts_.end());
    contexts_count_.store(contexts_.size(), std::memory_order_relaxed);
}

// Takes an object for a call. It counts in its context first: from then on sweep() leaves that alone,
// unless it was closed before.
Result<CommandCall*> DeviceCalls::open(const OpenContext& where,
                                       std::uint64_t function,
                                       const call::CallArguments& arguments,
                                       std::uint64_t* result) {
    CallContext& context = *where.context;
    context.count_command(1);
    Status status =
        context.is_closed() ? Status(Code::stale, "the context was closed") : join(where);
    if (status.is_ok()) {
        auto taken = take_call();
        if (taken.is_ok()) {
            status = taken.value()->open(context, function, arguments, result);
            if (status.is_ok()) return taken;
            release(*taken.value());
            return status;
        }
        status = std::move(taken).failure();
    }
    context.count_command(-1);
    return status;
}

Result<gma::Handle> DeviceCalls::issue(const OpenContext& where,
                                       std::uint64_t function,
                                       const call::CallArguments& arguments,
                                       std::uint64_t* result,
                                       gma::Handle order) {
    auto opened = open(where, function, arguments, result);
    if (!opened.is_ok()) return std::move(opened).failure();
    return gma_.layer_commands().issue(*opened.value(), order);
}

void DeviceCalls::begin(CommandCall& call) noexcept {
    deliver(call.context().begin(call));
}

bool DeviceCalls::poll() noexcept {
    // relaxed, both: a guess, and the visits are one
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (contexts_count_.load(std::memory_order_relaxed) == 0) return false;
    bool has_done = false;
    const std::scoped_lock lock(mutex_);
    for (const OpenContext& each : contexts_) {
        if (!each.context->has_news()) continue;
        deliver(each.context->poll());
        has_done = true;
    }
    return has_done;
}

void DeviceCalls::announce_sleep() noexcept {
    const std::scoped_lock lock(mutex_);
    for (const OpenContext& each : contexts_) each.context->announce_sleep();
}

// Ends calls in gma. Their objects are free afterwards: no thread can find them by the handle.
void DeviceCalls::deliver(CommandCallList over) noexcept {
    constexpr std::size_t at_once_max = 64;
    std::array<gma::LayerEnd, at_once_max> ends;
    while (!over.is_empty()) {
        CommandCallList ending;
        std::size_t count = 0;
        while (!over.is_empty() && count < at_once_max) {
            CommandCall& call = over.take_first();
            ends[count++] = {call.number(), status_of(call)};
            ending.append(call);
        }
        gma_.layer_commands().end(std::span(ends).first(count));
        release_all(ending);
    }
}

Status DeviceCalls::status_of(CommandCall& call) const noexcept {
    Status failure = call.take_failure();
    if (failure.is_ok() && call.ended().end == CallEnd::returned) return {};
    const std::string_view name = call.call_name();
    if (!failure.is_ok()) {
        try {
            return std::move(failure).within(std::string(name) + by_rank_);
        } catch (const std::bad_alloc&) {
            return Status::bare(Code::memory);
        }
    }
    Code code = Code::exception;
    if (call.ended().end == CallEnd::cancelled) code = Code::cancelled;
    if (call.ended().end == CallEnd::refused) code = Code::argument;
    if (call.ended().end > CallEnd::ended) code = Code::mismatch;
    return Status::worded(code, [&] {
        return std::string(name) + by_rank_ + ": " + ended_text(call) + "; it is " +
               description_of(call);
    });
}

std::string DeviceCalls::ended_text(const CommandCall& call) const {
    switch (call.ended().end) {
        case CallEnd::cancelled:
            return "the function was not run: acp_cancel has cancelled the call";
        case CallEnd::refused:
            return "the device process has refused the arguments";
        case CallEnd::faulted:
            return "the function was ended by signal " + std::to_string(call.ended().value) + " (" +
                   os::signal_name(static_cast<int>(call.ended().value)) + ")";
        case CallEnd::thrown:
            return "the function was ended by an exception of C++";
        default:
            return "the device process has answered by the number " +
                   std::to_string(static_cast<std::uint64_t>(call.ended().end)) +
                   ", which means nothing";
    }
}

// "add, context 2 of process 4711 of device 0"
std::string DeviceCalls::description_of(const CommandCall& call) const {
    const int process = call.context().worker().process();
    constexpr std::size_t name_bytes_max = 24;
    std::string name = names_.name_of(process, call.function());
    if (name.size() > name_bytes_max) name.replace(name_bytes_max - 3, std::string::npos, "...");
    return name + ", context " + std::to_string(call.context().number()) + " of process " +
           std::to_string(process) + ", device 0";
}

}  // namespace acp::offload
