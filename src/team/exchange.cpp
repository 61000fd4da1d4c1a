// SPDX-License-Identifier: BSD-3-Clause
// Calls in which each pair of members has different data. If all members are on one node and have
// little data, each publishes all of it on the board; else members send messages, on a node too. A
// scan uses the board whenever all members are on one node.
#include <algorithm>
#include <cstring>
#include <vector>

#include "sync/lines.hpp"
#include "team/collectives.hpp"
#include "team/rounds.hpp"

namespace acp::team {

namespace {

// Whether all members are on this node and a member's data is short enough for one round of the
// board.
//   parts  how many parts of `bytes` bytes a member publishes
bool is_short(const Team& team, std::uint64_t bytes, std::uint32_t parts = 1) noexcept {
    const Membership& members = team.members();
    return members.nodes() == 1 && members.size() > 1 && bytes <= board_short_bytes / parts;
}

// Publishes the caller's data in a round. False: broken.
bool show(Team& team, RoundNumber round, const char* source, std::uint64_t bytes) {
    char* const room = team.room(round, bytes);
    if (room == nullptr) return false;
    copy(room, source, bytes);
    team.publish(round);
    return true;
}

// Members on one node that give different sizes may take the short way and the long way. So on the
// long way, too, each member publishes its signature in one round, and a member that waits for
// messages first compares the signatures of their senders: on the short way they send none.

// Whether a call that takes the long way has that round.
bool has_round(const Team& team) noexcept {
    return team.members().nodes() == 1 && team.members().size() > 1;
}

// Compares the signatures that all other members publish, and finishes the round. False: broken.
bool compare_all(Team& team, RoundNumber round) {
    for (std::uint32_t rank = 0; rank < team.members().size(); ++rank) {
        if (rank != team.members().own() && team.read(rank, round, 0) == nullptr) return false;
    }
    team.finish(round);
    return true;
}

bool gather_short(Team& team, const char* own, char* all, std::uint64_t bytes, std::uint32_t root) {
    const RoundNumber round = team.begin_round();
    if (team.members().own() != root) {
        if (!show(team, round, own, bytes)) return false;
        team.finish(round);
        return true;
    }
    copy(all + root * bytes, own, bytes);
    for (std::uint32_t rank = 0; rank < team.members().size(); ++rank) {
        if (rank != root && !team.read_to(rank, round, all + rank * bytes, bytes, true))
            return false;
    }
    team.finish(round);
    return true;
}

bool scatter_short(
    Team& team, const char* all, char* own, std::uint64_t bytes, std::uint32_t root) {
    const Membership& members = team.members();
    const std::uint64_t all_bytes = bytes * members.size();
    const RoundNumber round = team.begin_round();
    const std::uint64_t begin = members.own() * bytes;
    if (members.own() == root) {
        if (!show(team, round, all, all_bytes)) return false;
        copy(own, all + begin, bytes);
    } else {
        const char* const shown = team.read(root, round, all_bytes);
        if (shown == nullptr) return false;
        copy(own, shown + begin, bytes);
    }
    team.finish(round);
    return true;
}

// Each member has `bytes` bytes for every member.
bool all_to_all_short(Team& team, const char* send, char* receive, std::uint64_t bytes) {
    const Membership& members = team.members();
    const std::uint64_t all_bytes = bytes * members.size();
    const RoundNumber round = team.begin_round();
    const std::uint64_t begin = members.own() * bytes;
    if (!show(team, round, send, all_bytes)) return false;
    copy(receive + begin, send + begin, bytes);
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        if (rank == members.own()) continue;
        const char* const shown = team.read(rank, round, all_bytes);
        if (shown == nullptr) return false;
        copy(receive + rank * bytes, shown + begin, bytes);
    }
    team.note_all_came(round);
    team.finish(round);
    return true;
}

// Each member publishes the combination up to itself, which only the next member reads.
class NearScan {
public:
    NearScan(Team& team, const Reduction& reduction, ScanKind kind) noexcept
        : team_(team),
          what_(reduction),
          combiner_(*reduction.combiner),
          kind_(kind),
          own_(team.members().own()) {}

    bool run() {
        const std::uint64_t size = combiner_.element_bytes();
        return by_rounds(team_, what_.count * size, board_chunk_bytes / size * size,
                         [this](const RoundPiece& piece) { return run_piece(piece); });
    }

private:
    bool run_piece(const RoundPiece& piece) {
        const std::uint64_t shown = shown_bytes(combiner_, piece.bytes);
        const bool is_last = own_ + 1 == team_.members().size();
        char* const before = own_ == 0 ? nullptr : team_.read(own_ - 1, piece.round, shown);
        if (own_ != 0 && before == nullptr) return false;
        // `receive` may be the same memory as `send`, which is read before. The last member combines
        // into the payload of the member before it, which it alone reads.
        const bool is_exclusive = kind_ == ScanKind::exclusive;
        char* const into = is_last ? before : team_.room(piece.round, shown);
        if (into == nullptr) return false;
        if (!is_last || !is_exclusive) combine(into, before, piece);
        const char* const result = is_exclusive ? before : into;
        if (result != nullptr) copy(what_.receive + piece.begin, result, piece.bytes);
        if (before != nullptr && shown > BoardLine::inline_bytes_max)
            sync::clear_lines(before, piece.bytes);
        if (!is_last) team_.publish(piece.round);
        return true;
    }

    void combine(char* into, const char* before, const RoundPiece& piece) const {
        const char* const send = what_.send + piece.begin;
        if (before == nullptr) {
            copy(into, send, piece.bytes);
        } else if (piece.bytes != 0) {
            combiner_.combine(into, before, send, piece.bytes / combiner_.element_bytes());
        }
    }

    Team& team_;
    const Reduction& what_;
    const Combiner& combiner_;
    ScanKind kind_;
    std::uint32_t own_;
};

}  // namespace

bool gather(Team& team, const char* own, char* all, std::uint64_t bytes, std::uint32_t root) {
    if (is_short(team, bytes)) return gather_short(team, own, all, bytes, root);
    const Membership& members = team.members();
    const RoundNumber round = has_round(team) ? team.begin_round() : 0;
    std::vector<FarMessage> messages(members.own() == root ? members.size() : 1);
    if (members.own() != root) {
        if (round != 0) {
            if (!show(team, round, own, 0)) return false;
            team.finish(round);
        }
        return team.begin_send(messages[0], root, own, bytes) && team.settle(messages);
    }
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        if (rank != root && !team.begin_receive(messages[rank], rank, all + rank * bytes, bytes))
            return false;
    }
    copy(all + root * bytes, own, bytes);
    if (round != 0 && !compare_all(team, round)) return false;
    return team.settle(messages);
}

bool scatter(Team& team, const char* all, char* own, std::uint64_t bytes, std::uint32_t root) {
    const Membership& members = team.members();
    if (is_short(team, bytes, members.size())) return scatter_short(team, all, own, bytes, root);
    const RoundNumber round = has_round(team) ? team.begin_round() : 0;
    std::vector<FarMessage> messages(members.own() == root ? members.size() : 1);
    if (members.own() != root) {
        if (round != 0 && team.read(root, round, 0) == nullptr) return false;
        if (round != 0) team.finish(round);
        return team.begin_receive(messages[0], root, own, bytes) && team.settle(messages);
    }
    if (round != 0) {
        if (!show(team, round, own, 0)) return false;
        team.finish(round);
    }
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        if (rank != root && !team.begin_send(messages[rank], rank, all + rank * bytes, bytes))
            return false;
    }
    copy(own, all + root * bytes, bytes);
    return team.settle(messages);
}

// All messages are in flight at once. Each member begins with a different partner, so that not all
// send to one member at a time.
bool all_to_all(
    Team& team, const char* send, const PairParts& sent, char* receive, const PairParts& received) {
    const Membership& members = team.members();
    const std::uint32_t own = members.own();
    const CollectiveCall call = team.call();
    const std::uint64_t each = sent.bytes[own];
    if (call == CollectiveCall::alltoall && is_short(team, each, members.size()))
        return all_to_all_short(team, send, receive, each);
    // The messages of alltoallv carry the sizes of their pairs, and it has no short way.
    const bool has_sizes = call == CollectiveCall::alltoall;
    const RoundNumber round = has_sizes && has_round(team) ? team.begin_round() : 0;
    if (round != 0 && !show(team, round, send, 0)) return false;
    std::vector<FarMessage> messages(std::size_t{2} * (members.size() - 1));
    auto next = messages.begin();
    for (std::uint32_t step = 1; step < members.size(); ++step) {
        const std::uint32_t from = (own + members.size() - step) % members.size();
        const std::uint32_t to = (own + step) % members.size();
        if (!team.begin_receive(*next++, from, receive + received.offsets[from],
                                received.bytes[from], Signature(call, received.bytes[from])) ||
            !team.begin_send(*next++, to, send + sent.offsets[to], sent.bytes[to],
                             Signature(call, sent.bytes[to])))
            return false;
    }
    copy(receive + received.offsets[own], send + sent.offsets[own], sent.bytes[own]);
    if (round != 0) {
        if (!compare_all(team, round)) return false;
        team.note_all_came(round);
    }
    return team.settle(messages);
}

// A chain: each member combines the elements that arrive from the member before it with its own,
// and sends them on.
bool scan(Team& team, const Reduction& reduction, ScanKind kind) {
    const Membership& members = team.members();
    const std::uint32_t own = members.own();
    const std::uint64_t size = reduction.combiner->element_bytes();
    if (members.nodes() == 1 && members.size() > 1) {
        return NearScan(team, reduction, kind).run();
    }
    const bool is_exclusive = kind == ScanKind::exclusive;
    const std::uint64_t segment = board_chunk_bytes / size;
    std::uint64_t done = 0;
    do {
        const std::uint64_t count = std::min(reduction.count - done, segment);
        const std::uint64_t bytes = count * size;
        const char* const send = reduction.send + done * size;
        char* const result = reduction.receive + done * size;
        std::vector<FarMessage> messages(2);
        const char* own_and_before = send;
        if (own != 0) {
            // `result` may be the same memory as `send`, which is read before.
            char* const before = team.scratch().take(2 * bytes);
            char* const combined = before + bytes;
            if (!team.begin_receive(messages[0], own - 1, before, bytes) ||
                !team.settle(std::span(messages).first(1)))
                return false;
            reduction.combiner->combine(combined, before, send, count);
            copy(result, is_exclusive ? before : combined, bytes);
            own_and_before = combined;
        } else if (!is_exclusive) {
            copy(result, send, bytes);
        }
        if (own + 1 < members.size() &&
            (!team.begin_send(messages[1], own + 1, own_and_before, bytes) ||
             !team.settle(std::span(messages).last(1))))
            return false;
        done += count;
    } while (done < reduction.count);
    return true;
}

}  // namespace acp::team
