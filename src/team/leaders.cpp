// SPDX-License-Identifier: BSD-3-Clause
// The barrier with a meeting of the leaders. Members publish their arrival to the leader of their
// node; the leaders exchange their notices, each with all others; each leader then releases its node.
// A notice travels behind its length, and what does not fit beside that in a message of its own.
#include <algorithm>
#include <array>
#include <vector>

#include "team/collectives.hpp"

namespace acp::team {

namespace {

struct LeaderNotice {
    static constexpr std::uint64_t text_bytes = FarMessage::packed_bytes_max - 8;

    std::uint64_t bytes = 0;  // length of the whole notice
    std::array<char, text_bytes> text{};
};

static_assert(sizeof(LeaderNotice) == FarMessage::packed_bytes_max);

// The notices of all nodes, at their leaders.
class LeaderExchange {
public:
    explicit LeaderExchange(Team& team)
        : team_(team),
          members_(team.members()),
          heads_(members_.nodes()),
          texts_(members_.nodes()) {}

    bool run(std::span<const char> notice) {
        const std::uint32_t own = members_.own_node();
        heads_[own].bytes = notice.size();
        copy(heads_[own].text.data(), notice.data(),
             std::min(notice.size(), heads_[own].text.size()));
        if (!exchange_heads()) return false;
        for (std::uint32_t node = 0; node < members_.nodes(); ++node) {
            if (node == own) continue;
            const LeaderNotice& head = heads_[node];
            texts_[node].resize(head.bytes);
            copy(texts_[node].data(), head.text.data(),
                 std::min<std::uint64_t>(head.bytes, head.text.size()));
        }
        return exchange_rests(notice);
    }

    [[nodiscard]] std::vector<std::span<const char>> notices(std::span<const char> own) const {
        std::vector<std::span<const char>> all(texts_.begin(), texts_.end());
        all[members_.own_node()] = own;
        return all;
    }

private:
    bool exchange_heads() {
        std::vector<FarMessage> messages(std::size_t{2} * (members_.nodes() - 1));
        auto next = messages.begin();
        return for_each_other([&](std::uint32_t node) {
                   return team_.begin_send(*next++, members_.leader(node),
                                           &heads_[members_.own_node()], sizeof(LeaderNotice)) &&
                          team_.begin_receive(*next++, members_.leader(node), &heads_[node],
                                              sizeof(LeaderNotice));
               }) &&
               team_.settle(messages);
    }

    bool exchange_rests(std::span<const char> notice) {
        constexpr std::size_t done = LeaderNotice::text_bytes;
        std::vector<FarMessage> messages(std::size_t{2} * (members_.nodes() - 1));
        std::size_t count = 0;
        const bool is_begun = for_each_other([&](std::uint32_t node) {
            const std::uint32_t rank = members_.leader(node);
            if (notice.size() > done &&
                !team_.begin_send(messages[count++], rank, notice.data() + done,
                                  notice.size() - done))
                return false;
            std::vector<char>& text = texts_[node];
            return text.size() <= done ||
                   team_.begin_receive(messages[count++], rank, text.data() + done,
                                       text.size() - done);
        });
        return is_begun && team_.settle(std::span(messages).first(count));
    }

    template <typename Call>
    bool for_each_other(const Call& call) {
        const std::uint32_t nodes = members_.nodes();
        for (std::uint32_t step = 1; step < nodes; ++step) {
            if (!call((members_.own_node() + step) % nodes)) return false;
        }
        return true;
    }

    Team& team_;
    const Membership& members_;
    std::vector<LeaderNotice> heads_;  // indexed by node
    std::vector<std::vector<char>> texts_;
};

bool meet_as_leader(Team& team, RoundNumber arrival, LeaderMeeting& meeting) {
    const Membership& members = team.members();
    for (std::uint32_t place = 1; place < members.near().size(); ++place) {
        if (team.read(place, arrival, 0) == nullptr) return false;
    }
    team.note_all_came(arrival);
    const std::span<const char> notice = meeting.notice();
    LeaderExchange exchange(team);
    if (!exchange.run(notice)) return false;
    meeting.settle(exchange.notices(notice));
    return true;
}

}  // namespace

bool synchronize_with_leaders(Team& team, LeaderMeeting& meeting) {
    const RoundNumber arrival = team.begin_round();
    const RoundNumber release = team.begin_round();
    if (team.room(arrival, 0) == nullptr) return false;
    team.publish(arrival);
    if (!team.members().is_leader()) {
        if (team.read_release(arrival, release) == nullptr) return false;
    } else {
        if (!meet_as_leader(team, arrival, meeting)) return false;
        if (team.room(release, 0) == nullptr) return false;
        team.publish(release);
    }
    team.finish(release);
    return true;
}

}  // namespace acp::team
