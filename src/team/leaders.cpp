// SPDX-License-Identifier: BSD-3-Clause
// The barrier with a meeting of the leaders. Members publish their arrival to the leader of their
// node; the leaders exchange their notices (notice_gather.hpp); each leader acts on all of them
// (LeaderMeeting::settle), then releases its node. Functions return false if the team is broken: its
// failure state has the reason.
#include <algorithm>
#include <vector>

#include "team/collectives.hpp"
#include "team/node_steps.hpp"
#include "team/notice_gather.hpp"

namespace acp::team {

namespace {

// The all-gather between the leaders of the nodes.
class LeaderAllgather {
public:
    explicit LeaderAllgather(Team& team) noexcept : team_(team), members_(team.members()) {}

    [[nodiscard]] std::uint32_t own() const noexcept { return members_.own_node(); }

    [[nodiscard]] std::uint32_t count() const noexcept { return members_.nodes(); }

    [[nodiscard]] std::uint32_t rank(std::uint32_t node) const noexcept {
        return members_.leader(node);
    }

    [[nodiscard]] static std::uint64_t part_bytes(std::uint64_t bytes,
                                                  std::uint64_t /*longest*/) noexcept {
        return bytes;
    }

    bool run(char* all, std::span<const std::uint64_t> begins) {
        return run_heads(all, begins, begins[own() + 1] - begins[own()]);
    }

    // Between few nodes a part goes alone, so its message need not be longer than `bytes`.
    bool run_heads(char* all, std::span<const std::uint64_t> begins, std::uint64_t bytes) {
        if (count() > flat_nodes_max) {
            for (const NodeStep& step : gather_steps(count(), own())) {
                if (!exchange({&step, 1}, all, begins, whole)) return false;
            }
            return true;
        }
        std::vector<NodeStep> steps;
        for (std::uint32_t i = 1; i < count(); ++i) {
            const std::uint32_t from = (own() + count() - i) % count();
            steps.push_back(
                {(own() + i) % count(), {own(), 1}, from, {from, 1}, Received::is_result});
        }
        return exchange(steps, all, begins, bytes);
    }

private:
    static constexpr std::uint64_t whole = ~std::uint64_t{0};

    // Carries out steps; the messages of all of them are in flight at once.
    //   sent_max  the bytes of each piece that the other leader needs
    bool exchange(std::span<const NodeStep> steps,
                  char* all,
                  std::span<const std::uint64_t> begins,
                  std::uint64_t sent_max) {
        std::vector<FarMessage> messages(4 * steps.size());  // two pieces sent, two received
        auto next = messages.begin();
        for (const NodeStep& step : steps) {
            const bool is_begun =
                for_each_run(step.sent, begins,
                             [&](std::uint64_t begin, std::uint64_t bytes) {
                                 return team_.begin_send(*next++, members_.leader(step.to),
                                                         all + begin, std::min(bytes, sent_max));
                             }) &&
                for_each_run(step.received, begins, [&](std::uint64_t begin, std::uint64_t bytes) {
                    return team_.begin_receive(*next++, members_.leader(step.from), all + begin,
                                               bytes);
                });
            if (!is_begun) return false;
        }
        return team_.settle(messages);
    }

    // Calls visit(begin, bytes) for the parts of a range of nodes that lie in one piece of memory:
    // one piece, or two where the range continues with the first node.
    template <typename Visit>
    bool for_each_run(const StepRange& nodes,
                      std::span<const std::uint64_t> begins,
                      const Visit& visit) {
        const std::uint64_t end = nodes.begin + nodes.count;
        const std::uint64_t behind = end > count() ? end - count() : 0;
        const std::uint64_t begin = begins[nodes.begin];
        return visit(begin, begins[end - behind] - begin) &&
               (behind == 0 || visit(0, begins[behind]));
    }

    Team& team_;
    const Membership& members_;
};

bool meet_leaders(Team& team, LeaderMeeting& meeting) {
    // The first part of a notice travels in one message with the signature of the call.
    NoticeGather<FarMessage::packed_bytes_max, LeaderAllgather> gather(team, LeaderAllgather(team),
                                                                       meeting.bytes_max());
    if (!gather.run(meeting.notice())) return false;
    std::vector<std::span<const char>> notices;
    for (std::uint32_t node = 0; node < team.members().nodes(); ++node)
        notices.push_back(gather.notice(node));
    meeting.settle(notices);
    return true;
}

bool read_arrivals(Team& team, RoundNumber arrival) {
    for (std::uint32_t place = 1; place < team.members().near().size(); ++place) {
        if (team.read(place, arrival, 0) == nullptr) return false;
    }
    team.note_all_came(arrival);
    return true;
}

}  // namespace

bool synchronize_with_leaders(Team& team, LeaderMeeting& meeting) {
    if (team.members().size() == 1) return meet_leaders(team, meeting);  // no shared block
    const RoundNumber arrival = team.begin_round();
    const RoundNumber release = team.begin_round();
    if (team.room(arrival, 0) == nullptr) return false;
    team.publish(arrival);
    if (!team.members().is_leader()) {
        if (team.read_release(arrival, release) == nullptr) return false;
    } else {
        if (!read_arrivals(team, arrival) || !meet_leaders(team, meeting)) return false;
        if (team.room(release, 0) == nullptr) return false;
        team.publish(release);
    }
    team.finish(release);
    return true;
}

}  // namespace acp::team
