// SPDX-License-Identifier: BSD-3-Clause
// Admission, order, ends and failures.
#include "gma/command_queue.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace acp::gma {

namespace {

base::Status order_failure() {
    return {base::Code::order, "not run: a command it was ordered after failed"};
}

}  // namespace

CommandQueue::CommandQueue(Marks& marks) : marks_(marks) {
    publish();
}

std::uint64_t CommandQueue::number_of(Handle handle) const noexcept {
    if (handle == handle_all) {
        return issued_;
    }
    return handle <= (issued_ | 1U) ? handle & ~1ULL : 0;  // CONT and handles never issued: nothing
}

bool CommandQueue::rests_on_failure(Handle order, std::uint64_t prefix) const {
    const bool has_unreported = !unreported_.empty() && unreported_.begin()->first <= prefix;
    return has_unreported || failed_.contains(order);
}

bool CommandQueue::is_satisfied(Handle order) const {
    if (order == handle_null) {
        return true;
    }
    if (order == handle_cont) {
        return !unreported_.contains(issued_) && !is_outstanding(issued_);
    }
    const std::uint64_t prefix = number_of(order);
    return prefix <= done_ && !rests_on_failure(order, prefix);
}

CommandQueue::Admission CommandQueue::admit(const memory::Command& command, Handle order) {
    const std::uint64_t previous = issued_;
    const std::uint64_t prefix = order == handle_null ? 0 : number_of(order);
    const bool is_failed = order == handle_cont
                               ? unreported_.contains(previous)
                               : order != handle_null && rests_on_failure(order, prefix);
    if (is_failed) {
        return {admit_failed(order_failure()), false};
    }
    push(command, State::waiting);
    const std::uint64_t number = issued_;
    bool is_ready = false;
    if (order == handle_cont && is_outstanding(previous)) {
        record(previous).is_followed = true;
    } else if (order != handle_cont && prefix > done_) {
        waiting_.emplace(prefix, number);
    } else {
        record(number).state = State::ready;
        is_ready = true;
    }
    waiting_count_ += is_ready ? 0 : 1;
    publish();
    return {number, is_ready};
}

std::uint64_t CommandQueue::admit_failed(base::Status failure) {
    push({}, State::ready);
    const std::uint64_t number = issued_;
    std::vector<std::uint64_t> ready;  // stays empty: nobody can wait for it yet
    end(number, std::move(failure), ready);
    publish();
    return number;
}

void CommandQueue::end(std::uint64_t number,
                       base::Status status,
                       std::vector<std::uint64_t>& ready) {
    if (status.is_ok()) {
        Record& ended = record(number);
        ended.state = State::finished;
        --outstanding_;
        if (ended.is_followed) {
            record(number + 2).state = State::ready;
            --waiting_count_;
            ready.push_back(number + 2);
        }
    } else {
        end_failed(number, std::move(status));
    }
    skip_finished();
}

// A failure ends at once what follows exactly this one and what waits for a prefix with it (not when the
// prefix ends: it may be reported before), and what is behind those: a list, not recursion, for chains may be
// long.
void CommandQueue::end_failed(std::uint64_t number, base::Status failure) {
    std::vector<std::pair<std::uint64_t, base::Status>> ends;
    ends.emplace_back(number, std::move(failure));
    while (!ends.empty()) {
        auto [current, outcome] = std::move(ends.back());
        ends.pop_back();
        Record& ended = record(current);
        waiting_count_ -= ended.state == State::waiting ? 1 : 0;
        ended.state = State::finished;
        --outstanding_;
        unreported_.emplace(current, Failure{std::move(outcome)});
        failed_.insert(current);
        if (failed_.size() > failures_remembered_max) {
            failed_.erase(failed_.begin());
        }
        const auto behind = waiting_.lower_bound(current);
        for (auto waiting = behind; waiting != waiting_.end(); ++waiting) {
            ends.emplace_back(waiting->second, order_failure());
        }
        waiting_.erase(behind, waiting_.end());
        if (ended.is_followed) {
            ends.emplace_back(current + 2, order_failure());
        }
    }
}

void CommandQueue::release_waiting(std::vector<std::uint64_t>& ready) {
    if (waiting_.empty()) {
        return;
    }
    const auto rest = waiting_.upper_bound(done_);
    for (auto waiting = waiting_.begin(); waiting != rest; ++waiting) {
        record(waiting->second).state = State::ready;
        --waiting_count_;
        ready.push_back(waiting->second);
    }
    waiting_.erase(waiting_.begin(), rest);
}

void CommandQueue::finish(std::uint64_t number,
                          base::Status status,
                          std::vector<std::uint64_t>& ready) {
    if (!is_outstanding(number)) {
        return;
    }
    end(number, std::move(status), ready);
    release_waiting(ready);
    publish();
}

namespace {

base::Status copy_of(const base::Status& status) {
    return {status.code(), std::string(status.message())};
}

}  // namespace

std::optional<base::Status> CommandQueue::take_failure(std::uint64_t number, std::uint64_t thread) {
    if (unreported_.empty() || unreported_.begin()->first > number) {
        return std::nullopt;
    }
    std::optional<base::Status> status = copy_of(unreported_.begin()->second.status);
    auto first = unreported_.extract(unreported_.begin());
    first.mapped().told[0] = thread;
    told_.insert(std::move(first));  // a node changes hands: nothing is allocated
    if (told_.size() > failures_remembered_max) {
        told_.erase(told_.begin());
    }
    publish();
    return status;
}

std::optional<base::Status> CommandQueue::told_to_others(std::uint64_t number,
                                                         std::uint64_t thread) {
    const auto found = told_.find(number);
    if (found == told_.end()) {
        return std::nullopt;
    }
    auto& told = found->second.told;
    const auto place =
        std::ranges::find_if(told, [&](std::uint64_t one) { return one == 0 || one == thread; });
    if (place == told.end() || *place == thread) {
        return std::nullopt;
    }
    std::optional<base::Status> status = copy_of(found->second.status);
    *place = thread;
    return status;
}

std::uint64_t CommandQueue::oldest_outstanding() const noexcept {
    return done_ == issued_ ? 0 : done_ + 2;
}

std::vector<std::uint64_t> CommandQueue::all_outstanding() const {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t number = done_ + 2; number <= issued_; number += 2) {
        if (record(number).state != State::finished) {
            numbers.push_back(number);
        }
    }
    return numbers;
}

void CommandQueue::publish() noexcept {
    std::uint64_t complete = done_;
    if (!unreported_.empty()) {
        complete = std::min(complete, unreported_.begin()->first - 2);
    }
    const std::uint64_t order =
        failed_.empty() ? complete : std::min(complete, *failed_.begin() - 2);
    publish_floors(complete, order);
    marks_.inline_handle.store(issued_ | 1U, std::memory_order_relaxed);
}

}  // namespace acp::gma
