// SPDX-License-Identifier: BSD-3-Clause
// Gathering on all members. The members of a node publish their data to each other. If the nodes are
// few, each member sends its data to the leaders of the other nodes; else the leaders pass on the
// data of ever more nodes. Each leader publishes the received data on its node.
#include <algorithm>
#include <cstring>

#include "team/collectives.hpp"
#include "team/node_steps.hpp"

namespace acp::team {

namespace {

class AllGather {
public:
    AllGather(Team& team, char* receive, std::uint64_t bytes) noexcept
        : team_(team), members_(team.members()), receive_(receive), bytes_(bytes) {}

    bool run() { return show_near() && exchange() && show_far(); }

private:
    [[nodiscard]] char* at(std::uint32_t rank) const noexcept { return receive_ + rank * bytes_; }

    bool show_near() {
        const auto near = members_.near();
        if (near.size() == 1) return true;
        std::uint64_t done = 0;
        do {
            const std::uint64_t now = std::min(bytes_ - done, board_chunk_bytes);
            const RoundNumber round = team_.begin_round();
            char* const room = team_.room(round, now);
            if (room == nullptr) return false;
            local::move_bytes(room, at(members_.own()) + done, now);
            team_.publish(round);
            for (std::uint32_t place = 0; place < near.size(); ++place) {
                if (place == members_.own_place()) continue;
                if (!team_.read_to(place, round, at(near[place]) + done, now, near.size() == 2))
                    return false;
            }
            team_.finish(round);
            done += now;
        } while (done < bytes_);
        return true;
    }

    bool exchange() {
        if (members_.nodes() <= flat_nodes_max) return exchange_all();
        return !members_.is_leader() || exchange_by_steps();
    }

    bool exchange_all() {
        const std::uint32_t nodes = members_.nodes();
        const std::uint32_t own = members_.own_node();
        const std::size_t received =
            members_.is_leader() ? members_.size() - members_.near().size() : 0;
        std::vector<FarMessage> messages(nodes - 1 + received);
        auto next = messages.begin();
        for (std::uint32_t step = 1; step < nodes; ++step) {
            const std::uint32_t node = (own + step) % nodes;
            if (!team_.begin_send(*next++, members_.leader(node), at(members_.own()), bytes_))
                return false;
            if (!members_.is_leader()) continue;
            for (const std::uint32_t rank : members_.on_node(node)) {
                if (!team_.begin_receive(*next++, rank, at(rank), bytes_)) return false;
            }
        }
        return team_.settle(messages);
    }

    // Among leaders.
    bool exchange_by_steps() {
        for (const NodeStep& step : gather_steps(members_.nodes(), members_.own_node())) {
            const std::vector<Run> sent = runs(step.sent);
            const std::vector<Run> received = runs(step.received);
            std::vector<FarMessage> messages(sent.size() + received.size());
            auto next = messages.begin();
            for (const Run& run : received) {
                if (!team_.begin_receive(*next++, members_.leader(step.from), at(run.first),
                                         run.count * bytes_))
                    return false;
            }
            for (const Run& run : sent) {
                if (!team_.begin_send(*next++, members_.leader(step.to), at(run.first),
                                      run.count * bytes_))
                    return false;
            }
            if (!team_.settle(messages)) return false;
        }
        return true;
    }

    // Members of consecutive ranks, whose data is one range of memory.
    struct Run {
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };

    // The members on the nodes of a range.
    [[nodiscard]] std::vector<Run> runs(const StepRange& nodes) const {
        const std::uint32_t all = members_.nodes();
        std::vector<Run> runs;
        bool is_in_run = false;
        for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
            const std::uint64_t behind = members_.node_of(rank) + all - nodes.begin;
            const bool is_wanted = behind % all < nodes.count;
            if (is_wanted && !is_in_run) runs.push_back({rank, 0});
            if (is_wanted) ++runs.back().count;
            is_in_run = is_wanted;
        }
        return runs;
    }

    // Publishes the received data: short data of all members in one broadcast, long data of one
    // member at a time.
    bool show_far() {
        if (members_.near().size() == 1) return true;
        const std::uint64_t all = (members_.size() - members_.near().size()) * bytes_;
        if (all > board_chunk_bytes) {
            return for_each_far(
                [this](std::uint32_t rank) { return near_broadcast(team_, at(rank), bytes_, 0); });
        }
        if (all == 0) return true;
        char* const packed = team_.scratch().take(all);
        char* next = packed;
        if (members_.is_leader()) {
            (void)for_each_far([&](std::uint32_t rank) {
                std::memcpy(std::exchange(next, next + bytes_), at(rank), bytes_);
                return true;
            });
        }
        if (!near_broadcast(team_, packed, all, 0)) return false;
        next = packed;
        return for_each_far([&](std::uint32_t rank) {
            std::memcpy(at(rank), std::exchange(next, next + bytes_), bytes_);
            return true;
        });
    }

    template <typename Call>
    bool for_each_far(const Call& call) {
        for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
            if (members_.node_of(rank) != members_.own_node() && !call(rank)) return false;
        }
        return true;
    }

    Team& team_;
    const Membership& members_;
    char* receive_;
    std::uint64_t bytes_;
};

}  // namespace

bool all_gather(Team& team, const char* send, char* receive, std::uint64_t bytes) {
    char* const own = receive + team.members().own() * bytes;
    if (own != send && bytes != 0) std::memcpy(own, send, bytes);
    return AllGather(team, receive, bytes).run();
}

}  // namespace acp::team
