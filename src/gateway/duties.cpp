// SPDX-License-Identifier: BSD-3-Clause
// Meetings and deaths, from the node segment to the router and back.
#include "gateway/duties.hpp"

#include <utility>

#include "gateway/node_fate.hpp"
#include "node/death.hpp"
#include "node/loss.hpp"

namespace acp::gateway {

Duties::Duties(const node::Segment& segment,
               engine::Engine& core,
               Time peer_timeout,
               OnGone on_gone)
    : segment_(segment),
      core_(core),
      peer_timeout_(peer_timeout),
      on_gone_(std::move(on_gone)),
      port_(segment),
      is_gone_(segment.shape().local_procs),
      wanted_(segment.shape().local_procs) {
    finished_.reserve(segment.shape().local_procs);
    unreported_.reserve(segment.shape().local_procs);
}

bool Duties::poll() {
    bool has_moved = false;
    if (deaths() != deaths_seen_) [[unlikely]] {
        look_for_the_dead();
        has_moved = true;
    }
    if (port_.has_meeting()) {
        const auto meeting = port_.take_meeting();
        if (meeting) start_barrier(*meeting);
        has_moved = true;
    }
    if (const auto asked = port_.take_watch()) [[unlikely]] {
        watch(*asked);
        has_moved = true;
    }
    if (is_unreachable_untold()) [[unlikely]] {
        tell_of_the_unreachable();
        has_moved = true;
    }
    if (are_finished_awaited()) [[unlikely]] {
        tell_of_finished();
        has_moved = true;
    }
    return has_moved;
}

void Duties::start_barrier(const node::GatewayPort::DueMeeting& meeting) {
    static_assert(node::Conclusion::words_count == router::Meeting::least_words);
    switch (meeting.gathers) {
        case node::Gathers::nothing:
            return core_.router().start_barrier(meeting.number, {});
        case node::Gathers::numbers:
            port_.read_wanted(wanted_);
            return core_.router().start_barrier(meeting.number, wanted_);
        case node::Gathers::conclusion:
            return core_.router().start_min_reduction(meeting.number,
                                                      port_.read_conclusion().words);
    }
}

// Asks the router to watch the nodes for twice the peer timeout; the process repeats its request
// while it waits.
void Duties::watch(NodeId asked) {
    const NodeId first = asked == node::every_node ? 0 : asked;
    const NodeId end = asked == node::every_node ? segment_.shape().nodes : asked + 1;
    for (NodeId node = first; node < end; ++node) {
        core_.router().watch(node, 2 * peer_timeout_);
    }
}

// The node's only process lives but has lost its socket. The other nodes get this reason before
// they find the node silent.
void Duties::tell_of_the_unreachable() {
    is_unreachable_told_ = true;
    base::ProcessEnd end = node::end_of(segment_, 0);
    end.wait_status = node::unreachable_status;
    core_.router().note_death(segment_.shape().first_process, end);
}

// Reports the process that died first before the other dead ones. Those may have ended because of
// it, and a rank of another node shows its user the first death that its gateway reports.
void Duties::look_for_the_dead() {
    deaths_seen_ = deaths();
    report_in_order();
    // the process may have left since it set is_unreachable
    if (is_unreachable_untold()) tell_of_the_unreachable();
    if (const auto first = node::first_dead(segment_)) look_at(*first);
    for (std::uint32_t slot = 0; slot < is_gone_.size(); ++slot) look_at(slot);
}

// Ends the commands that need a dead process, and reports its death to the other nodes. The death
// of a process that left in order is reported only when a meeting waits for it
// (are_finished_awaited()). A process that left a broken job is reported at once, because other
// ranks may wait for its messages; the processes that left in order are then reported first,
// because one of them may be why the job broke.
void Duties::look_at(std::uint32_t slot) {
    if (slot >= is_gone_.size() || is_gone_[slot] || !node::is_dead(segment_, slot)) return;
    is_gone_[slot] = true;
    on_gone_(slot);
    core_.placement().on_death(slot);
    unreported_.push_back(slot);
    report_in_order();
}

// Where processes of this node have found the first one gone, the watcher's report on how it ended
// comes within milliseconds, with another count of the deaths. The report to the other nodes waits
// for it, because a node takes only the first one. Later deaths wait behind it.
void Duties::report_in_order() {
    while (!unreported_.empty() && !node::is_end_awaited(segment_, unreported_.front())) {
        report(unreported_.front());
        unreported_.erase(unreported_.begin());
    }
}

void Duties::report(std::uint32_t slot) {
    const base::ProcessEnd end = node::end_of(segment_, slot);
    if (end.state == static_cast<std::uint8_t>(node::SlotState::left) &&
        end.wait_status != node::departed_status) {
        finished_.push_back(slot);
        return;
    }
    if (end.wait_status == node::departed_status) tell_of_finished();
    core_.router().note_death(segment_.shape().first_process + slot, end);
}

// Reports the processes that ended after an orderly leave: other nodes have made more collective
// calls than these processes, and would wait for them for ever.
void Duties::tell_of_finished() {
    for (const std::uint32_t slot : finished_) {
        base::ProcessEnd end = node::end_of(segment_, slot);
        end.wait_status = node::finished_status;
        core_.router().note_death(segment_.shape().first_process + slot, end);
    }
    finished_.clear();
}

void Duties::on_process_dead(std::uint32_t process, const base::ProcessEnd& end) {
    port_.publish_death(process, end);
}

bool Duties::is_anybody_joined() const noexcept {
    for (std::uint32_t slot = 0; slot < segment_.shape().local_procs; ++slot) {
        if (segment_.slot(slot).state.load(std::memory_order_acquire) <=
            static_cast<std::uint32_t>(node::SlotState::joined)) {
            return true;
        }
    }
    return false;
}

// A node that leaves after all its processes have left is no loss: its processes and ours have
// completed their last meeting.
void Duties::on_node_dead(NodeId node) {
    const datagram::SeverReason reason = core_.reason_of(node);
    if (datagram::is_told_by_it(reason) && !is_anybody_joined()) return;
    port_.publish_severed(node, loss_of(core_, node));
}

void Duties::on_met(std::uint32_t /*number*/, std::span<const std::uint32_t> gathered) {
    port_.finish_meeting(gathered);
}

}  // namespace acp::gateway
