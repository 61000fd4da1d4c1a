// SPDX-License-Identifier: BSD-3-Clause
// Calls in which each two members have something of their own for each other: by messages, on a node as between nodes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "team/collectives.hpp"

namespace acp::team {

bool gather(Team& team, const char* own, char* all, std::uint64_t bytes, std::uint32_t root) {
    const Membership& members = team.members();
    std::vector<FarMessage> messages(members.own() == root ? members.size() : 1);
    if (members.own() != root)
        return team.begin_send(messages[0], root, own, bytes) && team.settle(messages);
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        if (rank != root && !team.begin_receive(messages[rank], rank, all + rank * bytes, bytes))
            return false;
    }
    copy(all + root * bytes, own, bytes);
    return team.settle(messages);
}

bool scatter(Team& team, const char* all, char* own, std::uint64_t bytes, std::uint32_t root) {
    const Membership& members = team.members();
    std::vector<FarMessage> messages(members.own() == root ? members.size() : 1);
    if (members.own() != root)
        return team.begin_receive(messages[0], root, own, bytes) && team.settle(messages);
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        if (rank != root && !team.begin_send(messages[rank], rank, all + rank * bytes, bytes))
            return false;
    }
    copy(own, all + root * bytes, bytes);
    return team.settle(messages);
}

// All are under way at once; each begins with the member behind it, so that not all send to one.
bool all_to_all(
    Team& team, const char* send, const PairParts& sent, char* receive, const PairParts& received) {
    const Membership& members = team.members();
    const std::uint32_t own = members.own();
    const CollectiveCall call = team.call();
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
    return team.settle(messages);
}

// A chain of members: each combines what comes from the one before with its own, and passes it on.
bool scan(Team& team, const Reduction& reduction) {
    const Membership& members = team.members();
    const std::uint32_t own = members.own();
    const std::uint64_t size = reduction.combiner->element_bytes();
    const std::uint64_t segment = board_chunk_bytes / size;
    std::uint64_t done = 0;
    do {
        const std::uint64_t count = std::min(reduction.count - done, segment);
        const std::uint64_t bytes = count * size;
        const char* const send = reduction.send + done * size;
        char* const result = reduction.receive + done * size;
        std::vector<FarMessage> messages(2);
        if (own == 0) {
            copy(result, send, bytes);
        } else {
            char* const before = team.scratch().take(bytes);
            if (!team.begin_receive(messages[0], own - 1, before, bytes) ||
                !team.settle(std::span(messages).first(1)))
                return false;
            reduction.combiner->combine(before, before, send, count);
            copy(result, before, bytes);
        }
        if (own + 1 < members.size() && (!team.begin_send(messages[1], own + 1, result, bytes) ||
                                         !team.settle(std::span(messages).last(1))))
            return false;
        done += count;
    } while (done < reduction.count);
    return true;
}

}  // namespace acp::team
