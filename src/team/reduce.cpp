// SPDX-License-Identifier: BSD-3-Clause
// Reductions. On a node, short ones take one round: each member publishes its elements, and each
// member that needs the result combines all of them. Long ones are cut into chunks: each member
// combines one part of what all have published, and publishes the result, while the next chunk is
// published already. Between nodes one member of each node, the root or the leader, combines the
// nodes' results in the order of the nodes: all of them if the nodes are few, else in pairs. In
// a long all-reduction between few nodes each node combines one range of elements for all nodes.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "sync/lines.hpp"
#include "team/collectives.hpp"
#include "team/node_steps.hpp"

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

std::uint64_t bytes_of(const Reduction& what) noexcept {
    return what.count * what.combiner->element_bytes();
}

std::uint64_t room_of(const Reduction& what) noexcept {
    return (bytes_of(what) + 63) / 64 * 64;
}

// A reduction of the parts of at most flat_nodes_max nodes, by the member that speaks for its node.
// Keeps the parts of all nodes in the team's scratch memory.
class FewNodes {
public:
    //   root  speaks for its node; leaders speak for the other nodes
    FewNodes(Team& team, const Reduction& what, std::uint32_t root)
        : team_(team),
          members_(team.members()),
          what_(what),
          root_(root),
          room_(room_of(what)),
          parts_(team.scratch().take(room_ * members_.nodes())) {}

    // The place of the own node's part.
    [[nodiscard]] char* values() const noexcept { return part(members_.own_node()); }

    // All send to the root, which combines.
    bool reduce() {
        std::vector<FarMessage> messages(members_.own() == root_ ? members_.nodes() : 1);
        if (members_.own() != root_) {
            return team_.begin_send(messages[0], root_, values(), bytes_of(what_)) &&
                   team_.settle(messages);
        }
        for (std::uint32_t node = 0; node < members_.nodes(); ++node) {
            if (node != members_.own_node() && !begin_receive(messages[node], node)) return false;
        }
        if (!team_.settle(messages)) return false;
        combine({0, what_.count});
        return true;
    }

    // Short parts: all send to all, and each combines. Long ones: each node gets one range of all
    // parts, combines it, and sends the result to all.
    bool all_reduce() {
        const Range all{0, what_.count};
        const bool is_split = members_.nodes() > 2 && bytes_of(what_) >= split_bytes_min;
        const Range own = is_split ? range_of(members_.own_node()) : all;
        const auto given = [&](std::uint32_t to) { return is_split ? range_of(to) : all; };
        const auto sent = [&](std::uint32_t to) { return Piece{values(), given(to)}; };
        const auto received = [&](std::uint32_t from) { return Piece{part(from), own}; };
        if (!exchange(sent, received)) return false;
        combine(own);
        if (!is_split) return true;
        return exchange(
            [&](std::uint32_t) {
                return Piece{what_.receive, own};
            },
            [&](std::uint32_t from) {
                return Piece{what_.receive, range_of(from)};
            });
    }

private:
    // Below this the second round of messages costs more than the bytes that it saves.
    static constexpr std::uint64_t split_bytes_min = 64 << 10;

    // A range of elements.
    struct Range {
        std::uint64_t begin = 0;
        std::uint64_t count = 0;
    };

    // A range of the elements that begin at an address.
    struct Piece {
        char* elements = nullptr;
        Range range;
    };

    [[nodiscard]] char* part(std::uint32_t node) const noexcept { return parts_ + node * room_; }

    // The elements that a node combines for all.
    [[nodiscard]] Range range_of(std::uint32_t node) const noexcept {
        const std::uint64_t each = what_.count / members_.nodes();
        const bool is_last = node + 1 == members_.nodes();
        return {node * each, is_last ? what_.count - node * each : each};
    }

    [[nodiscard]] std::uint64_t bytes(std::uint64_t elements) const noexcept {
        return elements * what_.combiner->element_bytes();
    }

    // Sends a piece to each other leader and receives one from each; all are in flight at once.
    //   sent(to), received(from)  the pieces
    template <typename Sent, typename Received>
    bool exchange(const Sent& sent, const Received& received) {
        const std::uint32_t nodes = members_.nodes();
        std::vector<FarMessage> messages(std::size_t{2} * nodes);
        for (std::uint32_t step = 1; step < nodes; ++step) {
            const std::uint32_t other = (members_.own_node() + step) % nodes;
            const Piece from = received(other);
            const Piece to = sent(other);
            FarMessage* const both = &messages[std::size_t{2} * other];
            if (!team_.begin_receive(both[0], members_.leader(other),
                                     from.elements + bytes(from.range.begin),
                                     bytes(from.range.count)) ||
                !team_.begin_send(both[1], members_.leader(other),
                                  to.elements + bytes(to.range.begin), bytes(to.range.count)))
                return false;
        }
        return team_.settle(messages);
    }

    bool begin_receive(FarMessage& message, std::uint32_t node) noexcept {
        return team_.begin_receive(message, members_.leader(node), part(node), bytes_of(what_));
    }

    // Combines a range of all parts, in the order of the nodes.
    void combine(const Range& range) const {
        const Combiner& combiner = *what_.combiner;
        const std::uint64_t begin = bytes(range.begin);
        char* const result = what_.receive + begin;
        combiner.combine(result, part(0) + begin, part(1) + begin, range.count);
        for (std::uint32_t node = 2; node < members_.nodes(); ++node)
            combiner.combine(result, result, part(node) + begin, range.count);
    }

    Team& team_;
    const Membership& members_;
    const Reduction& what_;
    std::uint32_t root_;
    std::uint64_t room_;
    char* parts_;
};

// A reduction of the parts of many nodes, by the member that speaks for its node. Keeps two parts in
// the team's scratch memory: the combination so far, and room for the next one.
class ManyNodes {
public:
    // Longer parts are split among the nodes.
    static constexpr std::uint64_t whole_bytes_max = 16 << 10;

    //   root  speaks for its node; leaders speak for the other nodes
    ManyNodes(Team& team, const Reduction& what, std::uint32_t root)
        : team_(team),
          members_(team.members()),
          what_(what),
          root_(root),
          values_(team.scratch().take(2 * room_of(what))),
          next_(values_ + room_of(what)) {}

    // The place of the own node's part, before a reduction.
    [[nodiscard]] char* values() const noexcept { return values_; }

    bool reduce() {
        if (!run(reduce_steps(members_.nodes(), members_.own_node(), what_.count,
                              members_.node_of(root_))))
            return false;
        if (members_.own() == root_) copy(what_.receive, values_, bytes_of(what_));
        return true;
    }

    bool all_reduce() {
        if (!run(all_reduce_steps(members_.nodes(), members_.own_node(), what_.count,
                                  bytes_of(what_) > whole_bytes_max)))
            return false;
        copy(what_.receive, values_, bytes_of(what_));
        return true;
    }

private:
    [[nodiscard]] std::uint64_t bytes(std::uint64_t elements) const noexcept {
        return elements * what_.combiner->element_bytes();
    }

    [[nodiscard]] std::uint32_t speaker(std::uint32_t node) const noexcept {
        return node == members_.node_of(root_) ? root_ : members_.leader(node);
    }

    bool run(const std::vector<NodeStep>& steps) {
        std::vector<FarMessage> messages(2);
        for (const NodeStep& step : steps) {
            char* const into = step.how == Received::is_result ? values_ : next_;
            if (step.from != NodeStep::nobody &&
                !team_.begin_receive(messages[0], speaker(step.from),
                                     into + bytes(step.received.begin), bytes(step.received.count)))
                return false;
            if (step.to != NodeStep::nobody &&
                !team_.begin_send(messages[1], speaker(step.to), values_ + bytes(step.sent.begin),
                                  bytes(step.sent.count)))
                return false;
            if (!team_.settle(messages)) return false;
            combine(step);
        }
        return true;
    }

    // The combination takes the place of the elements of the earlier nodes.
    void combine(const NodeStep& step) {
        char* const own = values_ + bytes(step.received.begin);
        char* const other = next_ + bytes(step.received.begin);
        if (step.how == Received::is_first) {
            what_.combiner->combine(other, other, own, step.received.count);
            std::swap(values_, next_);
        } else if (step.how == Received::is_second) {
            what_.combiner->combine(own, own, other, step.received.count);
        }
    }

    Team& team_;
    const Membership& members_;
    const Reduction& what_;
    std::uint32_t root_;
    char* values_;
    char* next_;
};

bool is_flat(const Team& team) noexcept {
    return team.members().nodes() <= flat_nodes_max;
}

// How many elements are combined before the next segment begins.
std::uint64_t segment_count(const Team& team, const Combiner& combiner) noexcept {
    // A few nodes exchange a segment in two rounds of messages, each of a part of it.
    const std::uint64_t bytes =
        is_flat(team) ? segment_bytes(team.members().nodes(), 1 << 20) : segment_bytes(2);
    const std::uint64_t count = bytes / combiner.element_bytes();
    return count == 0 ? 1 : count;
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

// Combines on each node, then among the nodes by run(nodes). The member that speaks for a node alone
// takes part in the latter.
template <typename Nodes>
bool reduce_nodes(Team& team, const Reduction& what, std::uint32_t root, bool (Nodes::*run)()) {
    const Membership& members = team.members();
    const bool is_at_root = members.own_node() == members.node_of(root);
    const std::uint32_t speaker = is_at_root ? members.place_of(root) : 0;
    if (members.own_place() != speaker) return NearReduction(team, what, speaker).run();
    Nodes nodes(team, what, root);
    Reduction near = what;
    near.receive = nodes.values();
    return NearReduction(team, near, speaker).run() && (nodes.*run)();
}

}  // namespace

bool reduce(Team& team, const Reduction& reduction, std::uint32_t root) {
    if (team.members().nodes() == 1)
        return NearReduction(team, reduction, team.members().place_of(root)).run();
    return by_segments(team, reduction, [&](const Reduction& part) {
        return is_flat(team) ? reduce_nodes(team, part, root, &FewNodes::reduce)
                             : reduce_nodes(team, part, root, &ManyNodes::reduce);
    });
}

bool all_reduce(Team& team, const Reduction& reduction) {
    const Membership& members = team.members();
    if (members.nodes() == 1) return NearReduction(team, reduction, std::nullopt).run();
    const std::uint32_t leader = members.leader(0);
    return by_segments(team, reduction, [&](const Reduction& part) {
        const bool is_reduced = is_flat(team)
                                    ? reduce_nodes(team, part, leader, &FewNodes::all_reduce)
                                    : reduce_nodes(team, part, leader, &ManyNodes::all_reduce);
        return is_reduced && near_broadcast(team, part.receive, bytes_of(part), 0);
    });
}

}  // namespace acp::team
