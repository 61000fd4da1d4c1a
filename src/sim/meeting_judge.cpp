// SPDX-License-Identifier: BSD-3-Clause
// Makes nodes join meetings, and checks the tables that the meetings gather.
#include "sim/meeting_judge.hpp"

#include <algorithm>
#include <array>

namespace acp::sim {

std::uint32_t wanted_value(std::uint64_t seed, std::uint32_t number, std::uint32_t process) {
    return static_cast<std::uint32_t>(base::mix64(seed ^ (std::uint64_t{number} << 32) ^ process));
}

MeetingJudge::MeetingJudge(const Plan& plan, const Casualties& casualties, Judge& judge)
    : plan_(&plan), casualties_(&casualties), judge_(&judge), meetings_(plan.nodes) {}

void MeetingJudge::begin_round(Time now, base::Random& random) {
    for (Met& met : meetings_)
        met.next_call = now + random.below(plan_->gap_ns_max * plan_->steps + 1);
    goal_ += plan_->meetings;
    come_.resize(goal_);
}

Time MeetingJudge::issue(NodeId node, Time now, router::Router& router) {
    come(node, now, router);
    const Met& met = meetings_[node];
    const bool is_due =
        met.called < goal_ && met.called == met.ended && casualties_->is_job_whole();
    return is_due ? std::max(now + 1, met.next_call) : datagram::never;
}

void MeetingJudge::come(NodeId node, Time now, router::Router& router) {
    Met& met = meetings_[node];
    // After a loss a meeting could not end, so none is started.
    if (met.called == goal_ || met.called != met.ended || now < met.next_call ||
        !casualties_->is_job_whole()) {
        return;
    }
    const std::uint32_t number = met.called++;
    ++come_[number];
    judge_->tell("node %u enters meeting %u", node, number);
    if (gathers_in(number) == router::Meeting::Content::least) {
        return router.start_min_reduction(number, words_of(node, number));
    }
    std::vector<std::uint32_t> wanted;
    if (gathers_in(number) == router::Meeting::Content::table) {
        for (std::uint32_t process = plan_->first_process[node];
             process < plan_->first_process[node + 1]; ++process) {
            wanted.push_back(wanted_value(plan_->seed, number, process));
        }
    }
    router.start_barrier(number, wanted);
}

router::Meeting::Content MeetingJudge::gathers_in(std::uint32_t number) const noexcept {
    using Content = router::Meeting::Content;
    // Mostly tables; every third meeting gathers nothing, or minima.
    const std::uint64_t kind = (plan_->seed + number) % 6;
    if (kind % 3 != 0) return Content::table;
    return kind == 0 ? Content::least : Content::nothing;
}

router::Meeting::Words MeetingJudge::words_of(NodeId node, std::uint32_t number) const noexcept {
    const std::uint32_t value = wanted_value(plan_->seed, number, plan_->first_process[node]);
    return {value, ~value, node};
}

void MeetingJudge::check_least(NodeId node,
                               std::uint32_t number,
                               std::span<const std::uint32_t> least) {
    std::array<std::uint32_t, router::Meeting::least_words> expected = words_of(0, number);
    for (NodeId other = 1; other < plan_->nodes; ++other) {
        const auto words = words_of(other, number);
        for (std::size_t i = 0; i < words.size(); ++i)
            expected[i] = std::min(expected[i], words[i]);
    }
    if (std::equal(least.begin(), least.end(), expected.begin(), expected.end())) return;
    judge_->fail("the minima of meeting " + std::to_string(number) + " at node " +
                 std::to_string(node) + " are wrong");
}

void MeetingJudge::check_table(NodeId node,
                               std::uint32_t number,
                               std::span<const std::uint32_t> table) {
    const bool has_table = gathers_in(number) == router::Meeting::Content::table;
    if (table.size() != (has_table ? plan_->procs() : 0)) {
        return judge_->fail("the table of meeting " + std::to_string(number) + " has " +
                            std::to_string(table.size()) + " values");
    }
    for (std::uint32_t process = 0; process < table.size(); ++process) {
        if (table[process] == wanted_value(plan_->seed, number, process)) continue;
        return judge_->fail("the table of meeting " + std::to_string(number) + " at node " +
                            std::to_string(node) + " is wrong for process " +
                            std::to_string(process));
    }
}

void MeetingJudge::on_met(NodeId node, std::uint32_t number, std::span<const std::uint32_t> table) {
    Met& met = meetings_[node];
    judge_->note((std::uint64_t{node} << 32) | number);
    judge_->tell("node %u: meeting %u is complete", node, number);
    if (met.called != number + 1 || met.ended != number) {
        return judge_->fail("node " + std::to_string(node) +
                            " is notified of the completion of meeting " + std::to_string(number) +
                            ", which it is not in");
    }
    met.ended = number + 1;
    met.next_call = judge_->now() + plan_->gap_ns_max;
    if (come_[number] != plan_->nodes) {
        return judge_->fail("meeting " + std::to_string(number) +
                            " is complete before all nodes entered it");
    }
    if (gathers_in(number) == router::Meeting::Content::least) {
        return check_least(node, number, table);
    }
    check_table(node, number, table);
}

bool MeetingJudge::is_done() const {
    return std::all_of(meetings_.begin(), meetings_.end(),
                       [this](const Met& met) { return met.ended == goal_; });
}

bool MeetingJudge::is_stuck() const {
    return std::any_of(meetings_.begin(), meetings_.end(),
                       [](const Met& met) { return met.called != met.ended; });
}

std::string MeetingJudge::unfinished(NodeId node) const {
    if (!casualties_->is_job_whole() || meetings_[node].ended >= goal_) return {};
    return "meeting " + std::to_string(meetings_[node].ended) + " at node " + std::to_string(node);
}

}  // namespace acp::sim
