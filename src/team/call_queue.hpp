// SPDX-License-Identifier: BSD-3-Clause
// The non-blocking calls on one team, which are made one after the other in the order begun. They are the blocking calls, run on a fiber that
// stops where those wait: so there is one way to make each call. Whoever holds the team's CallLock moves them on.
// Tests: tests/conformance/team_request_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "base/status.hpp"
#include "message/slots.hpp"
#include "os/fiber.hpp"
#include "team/team.hpp"

namespace acp::team {

// So many calls at most are under way on a team.
inline constexpr std::size_t calls_under_way_max = 1024;

struct TeamRequest {
    static constexpr message::SlotKind slot_kind = message::SlotKind::team_request;
    message::SlotEntry slot;
    std::function<base::Status(Team&)> make_call;
    base::Status end;                  // how it has ended
    std::atomic<bool> is_done{false};  // stored after the end
};

class CallQueue {
public:
    [[nodiscard]] bool is_empty() const noexcept { return requests_.empty(); }

    // Adds a call, which go_on() makes. Errors: limit, memory, system. Throws std::bad_alloc.
    base::Status add(TeamRequest& request) {
        if (requests_.size() == calls_under_way_max) {
            return {base::Code::limit, std::to_string(calls_under_way_max) +
                                           " calls are under way on the team, which is the limit"};
        }
        if (fiber_ == nullptr) {
            auto made = os::Fiber::make();
            if (!made.is_ok()) return std::move(made).failure();
            fiber_ = std::move(made).value();
        }
        requests_.push_back(&request);
        return {};
    }

    // Goes on with the calls until one has to wait. Returns whether one has ended.
    //   is_thorough  as of Team::can_go_on
    bool go_on(Team& team, bool is_thorough) {
        bool has_one_ended = false;
        while (!requests_.empty()) {
            if (!fiber_->is_under_way()) {
                team.run_on(fiber_.get());
                fiber_->start([this, &team] { make_first(team); });
            } else if (team.can_go_on(is_thorough)) {
                fiber_->resume();
            } else {
                break;
            }
            if (fiber_->is_under_way()) continue;
            team.run_on(nullptr);
            TeamRequest& ended = *requests_.front();
            requests_.pop_front();
            // release: how it has ended; partner: Requests::take. seq_cst: before the look at the bell of the process
            ended.is_done.store(true, std::memory_order_seq_cst);
            has_one_ended = true;
        }
        return has_one_ended;
    }

private:
    void make_first(Team& team) {
        TeamRequest& request = *requests_.front();
        request.end = request.make_call(team);
        request.make_call = nullptr;
    }

    std::unique_ptr<os::Fiber> fiber_;  // made when it is first needed
    std::deque<TeamRequest*> requests_;
};

}  // namespace acp::team
