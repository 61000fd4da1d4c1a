// SPDX-License-Identifier: BSD-3-Clause
// Begins non-blocking calls, and waits for their ends.
#include "team/team_requests.hpp"

#include <new>
#include <utility>

#include "base/fence.hpp"
#include "base/format.hpp"
#include "gma/condition.hpp"
#include "os/membarrier.hpp"

namespace acp::team {

using base::Code;
using base::Result;
using base::Status;

namespace {

// Condition: a request has ended.
class RequestCondition final : public gma::Condition {
public:
    RequestCondition(AllCalls& calls, const TeamRequest& request, RequestHandle handle) noexcept
        : calls_(calls), request_(request), handle_(handle) {}

    gma::LookResult look() override {
        return is_done() ? gma::LookResult::all : gma::LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        calls_.announce(entry, since_ns);
    }

private:
    // True also if another thread has retired the request. seq_cst: makes the result visible, and
    // is ordered after the announcement of the sleep; partner: CallQueue::go_on()
    [[nodiscard]] bool is_done() const noexcept {
        return request_.is_done.load(std::memory_order_seq_cst) ||
               !message::Slots<TeamRequest>::is_still(request_, handle_);
    }

    AllCalls& calls_;
    const TeamRequest& request_;
    RequestHandle handle_;
};

// Condition: all non-blocking calls on a team have ended. The caller has locked the team.
class CallsCondition final : public gma::Condition {
public:
    CallsCondition(AllCalls& calls, TeamEntry& entry) noexcept : calls_(calls), entry_(entry) {}

    gma::LookResult look() override {
        const bool is_thorough = std::exchange(is_announced_, false);
        // Orders the announcement before the polls below; partners: Board::publish(), and the rings
        // of channels
        if (is_thorough && !os::expedite()) base::fence(std::memory_order_seq_cst);
        calls_.go_on_with(entry_, is_thorough);
        return entry_.calls.is_empty() ? gma::LookResult::all : gma::LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        is_announced_ = true;
        entry_.team->announce_stopped(entry, since_ns);
    }

private:
    AllCalls& calls_;
    TeamEntry& entry_;
    bool is_announced_ = false;
};

}  // namespace

Result<RequestHandle> TeamRequests::begin(TeamEntry& entry,
                                          std::function<Status(Team&)> make_call) {
    TeamRequest* const request = requests_.take();
    if (request == nullptr) {
        return Status(Code::limit,
                      "this process has " + std::to_string(requests_.objects_max) +
                          " requests in flight, which is the limit: complete one by acp_wait_team");
    }
    request->is_done.store(false, std::memory_order_relaxed);
    request->end = {};
    request->make_call = std::move(make_call);
    Status status;
    try {
        calls_.add(entry);
        status = entry.calls.add(*request);
    } catch (const std::bad_alloc&) {
        status = Status::bare(Code::memory);
    }
    if (!status.is_ok()) {
        request->make_call = nullptr;
        requests_.give_back(*request);
        if (entry.calls.is_empty()) calls_.remove(entry);
        return status;
    }
    const RequestHandle shown = requests_.show(*request);
    calls_.go_on_with(entry, false);
    if (entry.calls.is_empty()) calls_.remove(entry);
    return shown;
}

Status TeamRequests::end_calls(TeamEntry& entry, gma::Deadline deadline) {
    CallsCondition ended(calls_, entry);
    if (deadline.left_ns() < 0) {
        (void)gma_.wait_until(ended, deadline.left_ns());
    } else if (ended.look() != gma::LookResult::all) {
        return {Code::state,
                "requests are under way on the team; a barrier behind them is acp_nbsync_team"};
    }
    calls_.remove(entry);
    return {};
}

Status TeamRequests::wait(RequestHandle handle, std::int64_t timeout_ns) {
    const auto no_such_request = [handle] {
        return Status(Code::stale, "there is no such request as " + base::hex(handle) +
                                       ": it has ended, or was never made by this rank");
    };
    TeamRequest* const request = requests_.find(handle);
    if (request == nullptr) return no_such_request();
    RequestCondition ended(calls_, *request, handle);
    if (ended.look() != gma::LookResult::all) {
        if (timeout_ns != 0) {
            (void)gma_.wait_until(ended, timeout_ns);
        } else {
            calls_.go_on(true);
            gma_.under_way().look_in_vain();
        }
    }
    const std::scoped_lock lock(mutex_);
    if (!requests_.is_still(*request, handle)) return no_such_request();
    if (!request->is_done.load(std::memory_order_acquire)) {
        return Status(Code::timeout, "the request has not ended in time; it is still in flight");
    }
    Status end = std::move(request->end);
    requests_.give_back(*request);
    return end;
}

}  // namespace acp::team
