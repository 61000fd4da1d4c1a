// SPDX-License-Identifier: BSD-3-Clause
// Posts, waits, and takes answers in the order of the ring.
#include "offload/call_context.hpp"

#include <atomic>
#include <string>
#include <utility>

#include "base/fence.hpp"
#include "os/brief_poll.hpp"
#include "os/futex.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"

namespace acp::offload {

namespace {

using base::Code;
using call::CallEnd;
using call::Cancel;

// The number of a call, and its ticket in the ring.
[[nodiscard]] constexpr std::uint64_t call_of(std::uint64_t ticket) noexcept {
    return ticket + 1;
}

[[nodiscard]] constexpr std::uint64_t ticket_of(std::uint64_t call) noexcept {
    return call - 1;
}

[[nodiscard]] Status no_such_call(std::uint64_t call) {
    return {Code::stale, "call " + std::to_string(call) +
                             " of the context does not exist, or its result was taken"};
}

}  // namespace

void CallContext::wake_server(const call::Posted& posted) noexcept {
    if (posted.is_server_asleep)
        (void)os::futex_wake(ring_.head().server_bell.word(), os::everybody);
}

Status CallContext::check_open(Posting posting) const {
    if (is_closed_ && posting == Posting::of_users) return {Code::stale, "the context was closed"};
    if (worker_.has_ended()) return worker_.failure();
    if (calls_.size() >= results_max && posting == Posting::of_users) {
        return {Code::limit, "the results of " + std::to_string(calls_.size()) +
                                 " calls of the context were not taken, and no more are kept: wait "
                                 "for these calls"};
    }
    return {};
}

Result<std::uint64_t> CallContext::post(call::WorkerOperation operation,
                                        std::uint64_t target,
                                        const call::CallArguments& arguments) {
    return post_call(Posting::of_users, operation, target, arguments);
}

Result<std::uint64_t> CallContext::post_call(Posting posting,
                                             call::WorkerOperation operation,
                                             std::uint64_t target,
                                             const call::CallArguments& arguments) {
    std::unique_lock lock(mutex_);
    const std::uint64_t bytes = arguments.staging_bytes();
    for (;;) {
        take_answers();
        if (Status status = check_open(posting); !status.is_ok()) return status;
        const bool has_slot = ring_.in_flight() < memory_.ring.slot_count && waiting_.is_empty();
        const auto piece = has_slot ? staging_.reserve(bytes) : std::nullopt;
        if (!piece) {
            const std::uint64_t oldest = ring_.oldest();
            lock.unlock();
            sleep_until_answered(oldest);
            lock.lock();
            continue;
        }
        // A piece of a call that fails here is freed with the next call.
        if (Status status = commit_staging(piece->offset + bytes); !status.is_ok()) return status;
        std::byte* const staged = memory_.staging + piece->offset;
        const std::uint64_t ticket = ring_.oldest() + ring_.in_flight();
        calls_.try_emplace(call_of(ticket), Record{piece->end, staged, arguments, std::nullopt});
        const auto posted = ring_.post(
            arguments.encode(target, static_cast<std::uint8_t>(operation), staged, piece->offset));
        wake_server(*posted);
        note_awaited();
        return call_of(ticket);
    }
}

Status CallContext::commit_staging(std::uint64_t end) {
    if (end <= committed_bytes_) return {};
    const std::uint64_t until = call::worker_pages(end);
    Status status =
        os::commit(memory_.file, memory_.file_offset + committed_bytes_, until - committed_bytes_);
    if (status.is_ok()) committed_bytes_ = until;
    return status;
}

// While no call is in flight. A failure changes nothing: the pages are used again.
void CallContext::give_back_staging(std::uint64_t kept) noexcept {
    if (committed_bytes_ <= kept) return;
    if (os::give_back_shared(memory_.staging + kept, committed_bytes_ - kept))
        committed_bytes_ = kept;
}

void CallContext::take_answers() noexcept {
    // First, so that the ring has all answers that the worker ever gives.
    const bool has_ended = worker_.has_ended();
    while (const auto answer = ring_.take()) {
        CommandCall*& command = commands_at_[answer->ticket % call::worker_slots];
        if (command != nullptr) {
            end_command(*std::exchange(command, nullptr), {answer->outcome, answer->result});
            continue;
        }
        Record& call = calls_.find(call_of(answer->ticket))->second;
        if (answer->outcome == CallEnd::returned) call.arguments.fetch_output(call.staged);
        call.arguments.clear();
        staging_.release(call.staged_end);
        call.result = {answer->outcome, answer->result};
    }
    if (ring_.in_flight() == 0) {
        staging_.clear();
        give_back_staging(staging_kept_bytes);
    }
    if (!has_ended) {
        post_waiting();
        return note_awaited();
    }
    for (auto& [number, call] : calls_) {
        if (!call.result) call.result = {CallEnd::ended, 0};
    }
    end_commands_of_dead();
}

Result<std::optional<CallResult>> CallContext::test(std::uint64_t call) {
    const std::lock_guard lock(mutex_);
    take_answers();
    const auto found = calls_.find(call);
    if (found == calls_.end()) return no_such_call(call);
    const std::optional<CallResult> result = found->second.result;
    if (result) calls_.erase(found);
    return result;
}

Result<CallResult> CallContext::wait(std::uint64_t call) {
    for (;;) {
        auto tested = test(call);
        if (!tested.is_ok()) return std::move(tested).failure();
        if (tested.value()) return *tested.value();
        sleep_until_answered(ticket_of(call));
    }
}

void CallContext::sleep_until_answered(std::uint64_t ticket) const {
    const auto is_over = [&] { return ring_.is_answered(ticket) || worker_.has_ended(); };
    if (os::poll_briefly(is_over)) return;
    auto& bell = ring_.head().client_bell;
    const std::uint32_t value = bell.announce();
    // seq_cst: the poll below comes after the announcement; partners: RingServer::answer(), and
    // wake_all() after WorkerEnd::note()
    base::fence(std::memory_order_seq_cst);
    if (!is_over()) (void)os::futex_wait(bell.word(), value, -1);
}

Result<Cancel> CallContext::cancel(std::uint64_t call) {
    const std::lock_guard lock(mutex_);
    take_answers();
    const auto found = calls_.find(call);
    if (found == calls_.end()) return no_such_call(call);
    return found->second.result ? Cancel::over : ring_.cancel(ticket_of(call));
}

void CallContext::drain() {
    for (;;) {
        std::unique_lock lock(mutex_);
        take_answers();
        if (ring_.in_flight() == 0 || worker_.has_ended()) return;  // then none waits for room
        const std::uint64_t last = ring_.oldest() + ring_.in_flight() - 1;
        lock.unlock();
        sleep_until_answered(last);
    }
}

Status CallContext::close() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(is_closed_, true)) return {Code::stale, "the context was closed before"};
    }
    drain();
    auto posted = post_call(Posting::of_close, call::WorkerOperation::close, 0, {});
    if (!posted.is_ok()) return std::move(posted).failure();
    auto closed = wait(posted.value());
    if (!closed.is_ok()) return std::move(closed).failure();
    const std::lock_guard lock(mutex_);
    give_back_staging(0);
    return closed.value().end == CallEnd::returned ? Status() : worker_.failure();
}

void CallContext::wake_all() noexcept {
    auto& bell = ring_.head().client_bell;
    // seq_cst: comes after what the caller has stored; partner: sleep_until_answered()
    base::fence(std::memory_order_seq_cst);
    (void)bell.ring();
    (void)os::futex_wake(bell.word(), os::everybody);
    const std::lock_guard lock(mutex_);
    for (sync::Bell<>* const own : {bells_.waiters, bells_.call_thread}) {
        if (own == nullptr) continue;
        (void)own->ring();
        (void)os::futex_wake(own->word(), os::everybody);
    }
}

void CallContext::join_commands(const OwnerBells& bells, const char* device) noexcept {
    const std::lock_guard lock(mutex_);
    bells_ = bells;
    const auto offset_of = [device](const sync::Bell<>* bell) {
        return static_cast<std::uint64_t>(reinterpret_cast<const char*>(bell) - device);
    };
    auto& offsets = ring_.head().owner_bells;
    // relaxed: the next post releases them to the server
    offsets[0].store(offset_of(bells.waiters), std::memory_order_relaxed);
    offsets[1].store(offset_of(bells.call_thread), std::memory_order_relaxed);
    is_joined_.store(true, std::memory_order_release);
}

void CallContext::leave_commands() noexcept {
    const std::lock_guard lock(mutex_);
    bells_ = {};
    for (auto& offset : ring_.head().owner_bells) offset.store(0, std::memory_order_relaxed);
}

bool CallContext::is_closed() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
}

bool CallContext::is_over() const {
    const std::lock_guard lock(mutex_);
    // acquire: partner is the end of the last command
    return is_closed_ && commands_.load(std::memory_order_acquire) == 0;
}

bool CallContext::has_news() const noexcept {
    // acquire: a thread that finds a later call awaited finds has_ended_ set for those that it has
    // taken; relaxed: the lock comes before the use
    const std::uint64_t awaited = awaited_.load(std::memory_order_acquire);
    return has_ended_.load(std::memory_order_relaxed) ||
           (awaited != 0 && (ring_.is_answered(awaited - 1) || worker_.has_ended()));
}

void CallContext::announce_sleep() noexcept {
    (void)ring_.head().client_bell.announce();
}

CommandCallList CallContext::begin(CommandCall& call) noexcept {
    const std::lock_guard lock(mutex_);
    if (is_closed_) {
        fail_command(call, {base::Code::stale, "the context was closed before the call began"});
    } else if (worker_.has_ended()) {
        fail_command(call, worker_.failure());
    } else {
        waiting_.append(call);
        post_waiting();
        if (!waiting_.is_empty()) take_answers();
        note_awaited();
    }
    return take_ended();
}

CommandCallList CallContext::poll() noexcept {
    const std::lock_guard lock(mutex_);
    take_answers();
    return take_ended();
}

CommandCallList CallContext::take_ended() noexcept {
    has_ended_.store(false, std::memory_order_relaxed);
    return std::exchange(ended_, {});
}

void CallContext::note_awaited() noexcept {
    // release; partner: has_news()
    awaited_.store(ring_.in_flight() == 0 ? 0 : ring_.oldest() + 1, std::memory_order_release);
}

// Posts the calls that wait for room, in their order, as far as there is some.
void CallContext::post_waiting() noexcept {
    while (!waiting_.is_empty() && post_command(*waiting_.first())) (void)waiting_.take_first();
}

// False: there is no room. The call may also end here: cancelled, or without memory for its buffers.
bool CallContext::post_command(CommandCall& command) noexcept {
    if (ring_.in_flight() == memory_.ring.slot_count) return false;
    const std::uint64_t bytes = command.arguments().staging_bytes();
    const auto piece = staging_.reserve(bytes);
    if (!piece) return false;
    const std::uint64_t ticket = ring_.oldest() + ring_.in_flight();
    Status status = commit_staging(piece->offset + bytes);
    if (!status.is_ok() || !command.take_ticket(ticket)) {
        // The piece is freed with the next call, or when none is in flight.
        fail_command(command, std::move(status));
        return true;
    }
    command.staged = memory_.staging + piece->offset;
    command.staged_end = piece->end;
    commands_at_[ticket % call::worker_slots] = &command;
    const auto posted = ring_.post(command.arguments().encode(
        command.function(), static_cast<std::uint8_t>(call::WorkerOperation::function),
        memory_.staging + piece->offset, piece->offset));
    wake_server(*posted);
    return true;
}

void CallContext::end_command(CommandCall& command, const CallResult& ended) noexcept {
    command.end(ended);
    staging_.release(command.staged_end);
    ended_.append(command);
    has_ended_.store(true, std::memory_order_relaxed);
}

void CallContext::fail_command(CommandCall& command, Status failure) noexcept {
    command.fail(std::move(failure));
    ended_.append(command);
    has_ended_.store(true, std::memory_order_relaxed);
}

void CallContext::end_commands_of_dead() noexcept {
    for (CommandCall*& command : commands_at_) {
        if (command != nullptr) fail_command(*std::exchange(command, nullptr), worker_.failure());
    }
    while (!waiting_.is_empty()) fail_command(waiting_.take_first(), worker_.failure());
    awaited_.store(0, std::memory_order_release);  // partner: has_news()
}

}  // namespace acp::offload
