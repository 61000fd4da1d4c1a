// SPDX-License-Identifier: BSD-3-Clause
// The non-blocking calls on one team, run one after another in the order of their requests. A fiber
// runs the code of the blocking calls, and stops where that would wait: so each call has one
// implementation. The thread that holds the team's CallLock resumes the fiber.
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

// The most calls in flight on one team.
inline constexpr std::size_t calls_under_way_max = 1024;

struct TeamRequest {
    static constexpr message::SlotKind slot_kind = message::slot_kind_above<1>;
    message::SlotEntry slot;
    std::function<base::Status(Team&)> make_call;
    base::Status end;                  // the result
    std::atomic<bool> is_done{false};  // stored after `end`
};

class CallQueue {
public:
    [[nodiscard]] bool is_empty() const noexcept { return requests_.empty(); }

    // Appends a call, which go_on() runs. Errors: limit, memory, system. Throws std::bad_alloc.
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

    // Runs the calls until one must wait. Returns whether one has ended.
    //   is_thorough  see Team::can_go_on
    bool go_on(Team& team, bool is_thorough) {
        bool has_one_ended = false;
        while (!requests_.empty()) {
            const bool is_begun = fiber_->is_under_way();
            if (is_begun && !team.can_go_on(is_thorough)) break;
            team.note_fiber(true);
            if (is_begun) {
                fiber_->resume();
            } else {
                team.run_on(fiber_.get());
                fiber_->start([this, &team] { make_first(team); });
            }
            team.note_fiber(false);
            if (fiber_->is_under_way()) continue;
            team.run_on(nullptr);
            TeamRequest& ended = *requests_.front();
            requests_.pop_front();
            // release: publishes the result; partner: Requests::take. seq_cst: precedes the check
            // of the process's bell
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

    std::unique_ptr<os::Fiber> fiber_;  // made for the first call
    std::deque<TeamRequest*> requests_;
};

}  // namespace acp::team
