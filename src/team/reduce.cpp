// SPDX-License-Identifier: BSD-3-Clause
// Reductions. On a node, short ones take one round: each member publishes its elements, and each
// member that needs the result combines all of them. Long ones are cut into chunks: each member
// combines one part of what all have published, and publishes the result, while the next chunk is
// published already. Between nodes the leaders, or the root, combine the nodes' results in the
// order of the nodes.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "sync/lines.hpp"
#include "team/collectives.hpp"
#include "team/far_tree.hpp"

namespace acp::team {

namespace {

// A reduction among the members of a node.
class NearReduction {
public:
    //   to  the place of the member that gets the result; nullopt: all members get it
    NearReduction(Team& team, const Reduction& what, std::optional<std::uint32_t> to) noexcept
        : team_(team),
          what_(what),
          combiner_(*what.combiner),
          size_(what.combiner->element_bytes()),
          members_(static_cast<std::uint32_t>(team.members().near().size())),
          own_(team.members().own_place()),
          is_wanted_(!to.has_value() || *to == own_),
          is_read_once_(to.has_value() || members_ == 2) {}

    bool run() {
        if (members_ == 1) {
            copy(what_.receive, what_.send, what_.count * size_);
            return true;
        }
        if (what_.count * size_ <= board_short_bytes) return run_at_once();
        return run_by_chunks();
    }

private:
    // A range of elements in a chunk.
    struct Range {
        std::uint64_t begin = 0;
        std::uint64_t count = 0;
    };

    [[nodiscard]] std::uint64_t shown(std::uint64_t bytes) const noexcept {
        return shown_bytes(combiner_, bytes);
    }

    bool run_at_once() {
        const std::uint64_t bytes = what_.count * size_;
        const RoundNumber round = team_.begin_round();
        char* const room = team_.room(round, shown(bytes));
        if (room == nullptr) return false;
        copy(room, what_.send, bytes);
        team_.publish(round);
        if (is_wanted_) {
            const auto shown_by = [&](std::uint32_t place) -> const char* {
                return place == own_ ? room : team_.read(place, round, shown(bytes));
            };
            const char* const first = shown_by(0);
            if (first == nullptr) return false;
            for (std::uint32_t place = 1; place < members_; ++place) {
                const char* const next = shown_by(place);
                if (next == nullptr) return false;
                combiner_.combine(what_.receive, place == 1 ? first : what_.receive, next,
                                  what_.count);
            }
            team_.note_all_came(round);
        }
        team_.finish(round);
        return true;
    }

    // A pipeline: chunk k is published in one round, combined in a later one and taken after that,
    // while the next chunks are published and combined.
    bool run_by_chunks() {
        chunk_ = board_chunk_bytes / size_;
        const std::uint64_t chunks = (what_.count + chunk_ - 1) / chunk_;
        if (!show(0)) return false;
        for (std::uint64_t k = 0; k < chunks; ++k) {
            if (k + 1 < chunks && !show(k + 1)) return false;
            if (!combine(k)) return false;
            if (k > 0 && !take(k - 1)) return false;
            if (k + 1 < chunks) team_.finish(shown_[(k + 1) % 2] - 1);
        }
        if (!take(chunks - 1)) return false;
        team_.finish(combined_[(chunks - 1) % 2]);
        return true;
    }

    [[nodiscard]] std::uint64_t count_of(std::uint64_t k) const noexcept {
        return std::min(chunk_, what_.count - k * chunk_);
    }

    // The range of chunk k that the member at this place combines.
    [[nodiscard]] Range part(std::uint64_t k, std::uint32_t place) const noexcept {
        const std::uint64_t count = count_of(k);
        const std::uint64_t begin = count * place / members_;
        return {begin, count * (place + 1) / members_ - begin};
    }

    // The caller's own elements of chunk k.
    [[nodiscard]] const char* source(std::uint64_t k) const noexcept {
        return what_.send + k * chunk_ * size_;
    }

    [[nodiscard]] char* target(std::uint64_t k) const noexcept {
        return what_.receive + k * chunk_ * size_;
    }

    // Publishes chunk k without the caller's own part, which only the caller combines.
    bool show(std::uint64_t k) {
        const Range own = part(k, own_);
        const std::uint64_t before = own.begin * size_;
        const std::uint64_t behind = before + own.count * size_;
        const std::uint64_t bytes = count_of(k) * size_;
        const RoundNumber round = shown_[k % 2] = team_.begin_round();
        char* const room = team_.room(round, shown(bytes));
        if (room == nullptr) return false;
        copy(room, source(k), before);
        copy(room + behind, source(k) + behind, bytes - behind);
        team_.publish(round);
        return true;
    }

    // One member's elements in the part of a chunk that the caller combines.
    struct Operand {
        const char* data = nullptr;  // nullptr: the team is broken
        // `data`, if another member has published it for the caller alone; else nullptr
        char* lines = nullptr;
    };

    [[nodiscard]] Operand operand(std::uint64_t k, std::uint32_t place) {
        const std::uint64_t begin = part(k, own_).begin * size_;
        if (place == own_) return {source(k) + begin, nullptr};
        char* const its = team_.read(place, shown_[k % 2], shown(count_of(k) * size_));
        if (its == nullptr) return {};
        return {its + begin, its + begin};
    }

    bool combine(std::uint64_t k) {
        const Range own = part(k, own_);
        const RoundNumber round = combined_[k % 2] = team_.begin_round();
        char* const room = team_.room(round, shown(own.count * size_));
        Operand first = operand(k, 0);
        if (room == nullptr || first.data == nullptr) return false;
        for (std::uint32_t place = 1; place < members_; ++place) {
            const Operand next = operand(k, place);
            if (next.data == nullptr) return false;
            combine_part(room, first, next, own.count);
            first = {room, nullptr};
        }
        // Before publish(): the readers store zeros in it.
        if (is_wanted_) copy(target(k) + own.begin * size_, room, own.count * size_);
        team_.publish(round);
        return true;
    }

    // Combines a few cache lines at a time: published lines are zeroed while they are in the cache.
    void combine_part(char* into, const Operand& one, const Operand& other, std::uint64_t count) {
        constexpr std::uint64_t bytes_at_once = 1024;
        const std::uint64_t step = std::max<std::uint64_t>(1, bytes_at_once / size_);
        for (std::uint64_t done = 0; done < count; done += step) {
            const std::uint64_t now = std::min(step, count - done);
            const std::uint64_t at = done * size_;
            combiner_.combine(into + at, one.data + at, other.data + at, now);
            if (one.lines != nullptr) sync::clear_lines(one.lines + at, now * size_);
            if (other.lines != nullptr) sync::clear_lines(other.lines + at, now * size_);
        }
    }

    // Copies the parts that the other members have combined.
    bool take(std::uint64_t k) {
        if (!is_wanted_) return true;
        for (std::uint32_t place = 0; place < members_; ++place) {
            if (place == own_) continue;
            const Range range = part(k, place);
            const std::uint64_t bytes = range.count * size_;
            char* const done = team_.read(place, combined_[k % 2], shown(bytes));
            if (done == nullptr) return false;
            copy_out(target(k) + range.begin * size_, done, bytes, is_read_once_);
        }
        return true;
    }

    Team& team_;
    const Reduction& what_;
    const Combiner& combiner_;
    std::uint64_t size_;
    std::uint32_t members_;
    std::uint32_t own_;
    bool is_wanted_;
    bool is_read_once_;        // a combined part has one reader
    std::uint64_t chunk_ = 0;  // elements in a chunk
    std::array<RoundNumber, 2> shown_{};
    std::array<RoundNumber, 2> combined_{};
};

// The parts of all nodes, contiguous in memory, each with room for one segment.
class NodeParts {
public:
    NodeParts(Team& team, std::uint64_t room) : room_(room), nodes_(team.members().nodes()) {
        memory_ = team.scratch().take(room * nodes_);
    }

    [[nodiscard]] char* part(std::uint32_t node) const noexcept { return memory_ + node * room_; }

    void combine(const Combiner& combiner, char* into, std::uint64_t count) const {
        combiner.combine(into, part(0), part(1), count);
        for (std::uint32_t node = 2; node < nodes_; ++node)
            combiner.combine(into, into, part(node), count);
    }

private:
    std::uint64_t room_;
    std::uint32_t nodes_;
    char* memory_;
};

std::uint64_t round_up(std::uint64_t bytes) noexcept {
    return (bytes + 63) / 64 * 64;
}

// How many elements are combined before the next segment begins.
std::uint64_t segment_count(const Team& team, const Combiner& combiner) noexcept {
    const std::uint64_t count = segment_bytes(team.members().nodes()) / combiner.element_bytes();
    return count == 0 ? 1 : count;
}

// Gathers the parts of all nodes at one member, which speaks for its node as the leaders do for
// theirs.
bool bring_to(Team& team, const NodeParts& parts, std::uint64_t bytes, std::uint32_t rank) {
    const Membership& members = team.members();
    const std::uint32_t node = members.node_of(rank);
    std::vector<FarMessage> messages(members.own() == rank ? members.nodes() : 1);
    if (members.own() != rank) {
        const std::uint32_t own = members.own_node();
        return team.begin_send(messages[0], rank, parts.part(own), bytes) && team.settle(messages);
    }
    for (std::uint32_t other = 0; other < members.nodes(); ++other) {
        if (other == node) continue;
        if (!team.begin_receive(messages[other], members.leader(other), parts.part(other), bytes))
            return false;
    }
    return team.settle(messages);
}

// Among leaders: each sends its node's part to all other leaders.
bool exchange(Team& team, const NodeParts& parts, std::uint64_t bytes) {
    const Membership& members = team.members();
    const std::uint32_t own = members.own_node();
    std::vector<FarMessage> messages(std::size_t{2} * members.nodes());
    for (std::uint32_t step = 1; step < members.nodes(); ++step) {
        const std::uint32_t to = (own + step) % members.nodes();
        const std::size_t place = std::size_t{2} * to;
        if (!team.begin_receive(messages[place], members.leader(to), parts.part(to), bytes) ||
            !team.begin_send(messages[place + 1], members.leader(to), parts.part(own), bytes))
            return false;
    }
    return team.settle(messages);
}

// Among leaders: combines the parts of all nodes, with the result on all leaders.
bool combine_nodes(Team& team, const NodeParts& parts, const Reduction& what) {
    const std::uint64_t bytes = what.count * what.combiner->element_bytes();
    if (team.members().nodes() <= flat_nodes_max) {
        if (!exchange(team, parts, bytes)) return false;
        parts.combine(*what.combiner, what.receive, what.count);
        return true;
    }
    const std::uint32_t first = team.members().leader(0);
    if (!bring_to(team, parts, bytes, first)) return false;
    if (team.members().own() == first) parts.combine(*what.combiner, what.receive, what.count);
    FarTree tree(team, first);
    return tree.receive(what.receive, bytes) && tree.begin_sends(what.receive, bytes) &&
           tree.settle();
}

// Calls run(segment of the reduction) for each segment, at least once.
template <typename Run>
bool by_segments(Team& team, const Reduction& reduction, const Run& run) {
    const std::uint64_t size = reduction.combiner->element_bytes();
    const std::uint64_t segment = segment_count(team, *reduction.combiner);
    std::uint64_t done = 0;
    do {
        Reduction part = reduction;
        part.count = std::min(reduction.count - done, segment);
        part.send += done * size;
        if (part.receive != nullptr) part.receive += done * size;
        if (!run(part)) return false;
        done += part.count;
    } while (done < reduction.count);
    return true;
}

}  // namespace

bool reduce(Team& team, const Reduction& reduction, std::uint32_t root) {
    const Membership& members = team.members();
    const std::uint32_t own = members.own_node();
    const bool is_at_root = own == members.node_of(root);
    const std::uint32_t speaker = is_at_root ? members.place_of(root) : 0;
    if (members.nodes() == 1) return NearReduction(team, reduction, speaker).run();
    return by_segments(team, reduction, [&](const Reduction& part) {
        const std::uint64_t bytes = part.count * part.combiner->element_bytes();
        const bool is_speaker = members.own_place() == speaker;
        const NodeParts parts(team, is_speaker ? round_up(bytes) : 0);
        Reduction near = part;
        near.receive = parts.part(own);
        if (!NearReduction(team, near, speaker).run()) return false;
        if (!is_speaker) return true;
        if (!bring_to(team, parts, bytes, root)) return false;
        if (members.own() == root) parts.combine(*part.combiner, part.receive, part.count);
        return true;
    });
}

bool all_reduce(Team& team, const Reduction& reduction) {
    const Membership& members = team.members();
    if (members.nodes() == 1) return NearReduction(team, reduction, std::nullopt).run();
    return by_segments(team, reduction, [&](const Reduction& part) {
        const std::uint64_t bytes = part.count * part.combiner->element_bytes();
        const NodeParts parts(team, members.is_leader() ? round_up(bytes) : 0);
        Reduction near = part;
        near.receive = parts.part(members.own_node());
        if (!NearReduction(team, near, std::uint32_t{0}).run()) return false;
        if (members.is_leader() && !combine_nodes(team, parts, part)) return false;
        return near_broadcast(team, part.receive, bytes, 0);
    });
}

}  // namespace acp::team
