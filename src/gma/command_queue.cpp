// SPDX-License-Identifier: BSD-3-Clause
// Admission, order, ends and failures.
#include "gma/command_queue.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "node/awaited.hpp"

namespace acp::gma {

CommandQueue::CommandQueue(Marks& marks, std::string initiator)
    : marks_(marks), initiator_(std::move(initiator)) {
    if (!has_room()) {  // the first block of records, which stays: has_room() relies on it
        throw std::bad_alloc();
    }
    publish();
}

std::uint64_t CommandQueue::number_of(Handle handle) const noexcept {
    if (handle == handle_all) {
        return issued_;
    }
    return handle <= (issued_ | 1U) ? handle & ~1ULL : 0;  // CONT and handles never issued: nothing
}

bool CommandQueue::rests_on_failure(Handle order, std::uint64_t prefix) const noexcept {
    const std::uint64_t untold = failures_.first_untold();
    return (untold != 0 && untold <= prefix) || failures_.is_remembered(order);
}

Handle CommandQueue::fixed(Handle order) const {
    if (is_satisfied(order)) return handle_null;
    return order == handle_cont ? issued_ : number_of(order);
}

bool CommandQueue::is_failed(Handle order) const noexcept {
    return order == handle_cont ? failures_.is_untold(issued_)
                                : order != handle_null && rests_on_failure(order, number_of(order));
}

bool CommandQueue::is_satisfied(Handle order) const {
    if (order == handle_null) {
        return true;
    }
    if (is_failed(order)) {
        return false;
    }
    return order == handle_cont ? !is_outstanding(issued_) : number_of(order) <= done_;
}

// The failure of a command that does not run because the command of the handle `failed` failed.
base::Status CommandQueue::order_failure(const memory::Command& command,
                                         std::uint64_t failed) const noexcept {
    return base::Status::worded(base::Code::order, [&] {
        const std::string_view call = command.is_of_layer() ? LayerCommand::of(command).call_name()
                                                            : memory::call_name(command);
        const std::string who = std::string(call) + initiator_ + ": ";
        if (command.is_of_list() && command.operand != 0) {  // it is ordered after its ranges
            return who + (command.operand == 1 ? "its one range failed"
                                               : "some of its " + std::to_string(command.operand) +
                                                     " ranges failed");
        }
        if (command.is_of_list() || command.is_of_layer()) {
            return who + "not run: the command of handle " + std::to_string(failed) +
                   ", which it was ordered after, failed";
        }
        return who + "not run (" +
               (command.has_target() ? "target " + base::hex(command.target) + ", " : "") +
               memory::role_name(command, false) + " " + base::hex(command.source) +
               "): the command of handle " + std::to_string(failed) +
               ", which it was ordered after, failed";
    });
}

CommandQueue::Admission CommandQueue::admit(const memory::Command& command, Handle order) noexcept {
    const std::uint64_t previous = issued_;
    const std::uint64_t prefix = order == handle_null ? 0 : number_of(order);
    if (is_failed(order)) {
        const std::uint64_t untold = failures_.first_untold();
        const bool is_in_prefix = order != handle_cont && untold != 0 && untold <= prefix;
        const std::uint64_t failed = is_in_prefix           ? untold
                                     : order == handle_cont ? previous
                                                            : order;
        loans_.note_lapsed(command);
        return {admit_failed(order_failure(command, failed)), false};
    }
    const std::uint64_t number = issued_ + 2;
    const bool is_following = order == handle_cont && is_outstanding(previous);
    const bool is_waiting = order != handle_cont && prefix > done_;
    if (is_waiting && !wait_for(prefix, number)) {
        return {};
    }
    const bool is_ready = !is_following && !is_waiting;
    push(command, is_ready ? State::ready : State::waiting);
    if (is_following) {
        record(previous).is_followed = true;
    }
    waiting_count_ += is_ready ? 0 : 1;
    publish();
    return {number, is_ready};
}

std::uint64_t CommandQueue::take_first(CommandList& list) noexcept {
    const std::uint64_t number = list.first;
    take_through(list, number, 1);
    return number;
}

AwaitedRun CommandQueue::awaited_by(std::uint64_t number, Handle order) const noexcept {
    if (order == handle_cont) return {number - 2, 1};
    return {done_ + 2, (number_of(order) - done_) / 2};
}

bool CommandQueue::keep_room_for_two() noexcept {
    return records_.keep_two_blocks();
}

bool CommandQueue::has_room_for_two() noexcept {
    return outstanding_ + 2 <= commands_outstanding_max && records_.make_room(2);
}

CommandQueue::Admission CommandQueue::admit_pair(const memory::Command& first,
                                                 const memory::Command& second,
                                                 Handle order) noexcept {
    const Admission one = admit(first, order);
    if (!is_outstanding(one.number)) {  // no memory, or failed
        return one;
    }
    Record& half = record(one.number);
    half.is_followed = true;
    half.is_half = true;
    push(second, State::waiting);
    ++waiting_count_;
    publish();
    return {issued_, one.is_ready};
}

void CommandQueue::advance(std::uint64_t number, std::uint64_t bytes) noexcept {
    memory::Command& command = record(number).command;
    command.target += bytes;
    command.source += bytes;
    command.bytes -= bytes;
}

// False when there is no memory for it.
bool CommandQueue::wait_for(std::uint64_t prefix, std::uint64_t number) noexcept {
    try {
        waiting_.emplace(prefix, number);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

std::uint64_t CommandQueue::admit_failed(base::Status failure) noexcept {
    push({}, State::ready);
    const std::uint64_t number = issued_;
    CommandList ready;  // stays empty: no command can wait for this one yet
    end(number, std::move(failure), ready);
    publish();
    return number;
}

void CommandQueue::end(std::uint64_t number, base::Status status, CommandList& ready) noexcept {
    if (status.is_ok()) {
        Record& ended = record(number);
        ended.state = State::finished;
        --outstanding_;
        loans_.note_ended(ended.command);
        if (ended.is_followed) release(number + 2, ready);
    } else {
        end_failed(number, std::move(status));
    }
    skip_finished();
}

// The order of a waiting command has failed.
void CommandQueue::note_lapsed(const memory::Command& command) noexcept {
    loans_.note_lapsed(command);
    if (command.is_of_layer()) lapsed_.add(LayerCommand::of(command));
}

// A failure at once fails the command that follows exactly this one, the commands that wait for a
// prefix with it (not only when the prefix ends: it may be reported before), and in turn the
// commands behind these: by a list, not by recursion, for chains may be long. A waiting command is
// in no other list.
void CommandQueue::end_failed(std::uint64_t number, base::Status failure) noexcept {
    // The number whose handle the caller has, and which reports the failure.
    const std::uint64_t teller = record(number).is_half ? number + 2 : number;
    CommandList ends;
    append(ends, number);
    while (!ends.is_empty()) {
        const std::uint64_t current = take_first(ends);
        Record& ended = record(current);
        waiting_count_ -= ended.state == State::waiting ? 1 : 0;
        ended.state = State::finished;
        --outstanding_;
        loans_.note_ended(ended.command);
        if (current != number) note_lapsed(ended.command);
        if (!ended.is_half) {
            // NOLINTBEGIN(bugprone-use-after-move): one number is the teller's own, and once
            base::Status told =
                current == teller ? std::move(failure) : order_failure(ended.command, teller);
            // NOLINTEND(bugprone-use-after-move)
            failures_.note(current, std::move(told));
        }
        const auto behind = waiting_.lower_bound(current);
        for (auto waiting = behind; waiting != waiting_.end(); ++waiting) {
            append(ends, waiting->second);
        }
        waiting_.erase(behind, waiting_.end());
        if (ended.is_followed) {
            append(ends, current + 2);
        }
    }
}

// The commands that it waited for have ended: it is ready.
void CommandQueue::release(std::uint64_t number, CommandList& ready) noexcept {
    record(number).state = State::ready;
    --waiting_count_;
    if (!record(number).is_ahead) append(ready, number);
}

void CommandQueue::release_waiting(CommandList& ready) noexcept {
    if (waiting_.empty()) {
        return;
    }
    const auto rest = waiting_.upper_bound(done_);
    for (auto waiting = waiting_.begin(); waiting != rest; ++waiting) {
        release(waiting->second, ready);
    }
    waiting_.erase(waiting_.begin(), rest);
}

void CommandQueue::finish(std::uint64_t number, base::Status status, CommandList& ready) noexcept {
    if (!is_outstanding(number)) {
        return;
    }
    end(number, std::move(status), ready);
    release_waiting(ready);
    publish();
}

std::optional<base::Status> CommandQueue::take_failure(std::uint64_t number,
                                                       std::uint64_t thread) noexcept {
    auto first = failures_.take(number, thread);
    if (first) {
        publish();
    }
    return first;
}

std::optional<base::Status> CommandQueue::take_failure_of(std::uint64_t number,
                                                          std::uint64_t thread) noexcept {
    auto failure = failures_.take_of(number, thread);
    if (failure) {
        publish();
    }
    return failure;
}

std::uint64_t CommandQueue::oldest_outstanding() const noexcept {
    return done_ == issued_ ? 0 : done_ + 2;
}

void CommandQueue::publish() noexcept {
    std::uint64_t complete = done_;
    if (const std::uint64_t untold = failures_.first_untold(); untold != 0) {
        complete = std::min(complete, untold - 2);
    }
    const std::uint64_t failed = failures_.first_remembered();
    const std::uint64_t order = failed == 0 ? complete : std::min(complete, failed - 2);
    publish_floors(complete, order);
    marks_.inline_handle.store(issued_ | 1U, std::memory_order_relaxed);
}

}  // namespace acp::gma
