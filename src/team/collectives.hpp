// SPDX-License-Identifier: BSD-3-Clause
// The collective calls, as one member runs its part of them: after Team::begin_call, with arguments
// that were checked. All return false if the team is broken; synchronize() also if its deadline has
// passed. For the one thread that is in a call on the team.
//
// Members of a node communicate through the board (board.hpp), nodes through messages between their
// leaders, or the root. Long buffers are cut into segments.
// Tests: tests/unit/team/collectives_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "local/direct.hpp"
#include "team/combiner.hpp"
#include "team/team.hpp"

namespace acp::team {

// In a team on one node with at most this many members, each member reads every other's arrival at
// a barrier; in larger ones the leader does.
inline constexpr std::uint32_t flat_members_max = 8;

// Up to this length a node uses one round of the board, even where there is another algorithm.
inline constexpr std::uint64_t board_short_bytes = 4096;

// Up to this many nodes exchange their parts of a reduction or gathering all with all; more nodes
// take the steps of node_steps.hpp.
inline constexpr std::uint32_t flat_nodes_max = 8;

// How many bytes of each member are broadcast or combined before the next segment begins.
//   nodes      how many nodes' parts a member keeps at once
//   bytes_max  longer segments gain nothing
[[nodiscard]] constexpr std::uint64_t segment_bytes(std::uint32_t nodes,
                                                    std::uint64_t bytes_max = 512 << 10) noexcept {
    constexpr std::uint64_t all_bytes = 4 << 20;
    const std::uint64_t bytes = all_bytes / nodes;
    return bytes > bytes_max ? bytes_max : bytes < board_chunk_bytes ? board_chunk_bytes : bytes;
}

// The barrier. If the deadline passes, the next call resumes the same barrier.
bool synchronize(Team& team);

inline constexpr std::uint64_t notice_bytes_max = 1024;

// The barrier, after which each member has the notices of all.
//   notice   at most notice_bytes_max bytes; may differ in length
//   notices  room for notice_bytes_max bytes of each member, by team rank
//   sizes    the length of each member's notice, by team rank
bool synchronize_with_notices(Team& team,
                              std::span<const char> notice,
                              char* notices,
                              std::size_t* sizes);

// What the leaders of the nodes exchange inside a barrier.
class LeaderMeeting {
public:
    LeaderMeeting() noexcept = default;
    LeaderMeeting(const LeaderMeeting&) = delete;
    LeaderMeeting& operator=(const LeaderMeeting&) = delete;
    virtual ~LeaderMeeting() = default;

    // The length of the longest notice that a node may have; the same on all nodes. A longer one
    // breaks the team with `mismatch`.
    [[nodiscard]] virtual std::uint64_t bytes_max() const noexcept = 0;

    // Called when all members of the node have arrived. Returns the node's notice, of at most
    // bytes_max() bytes, valid until settle() has returned. May throw std::bad_alloc.
    virtual std::span<const char> notice() = 0;

    // Called when the leaders of all nodes have met, and before any member of the node leaves.
    //   notices  the result of notice() on each node, in the order of the nodes
    virtual void settle(std::span<const std::span<const char>> notices) = 0;
};

// The barrier, in which the leader of each node calls `meeting`. Not resumable: for calls without a
// deadline.
bool synchronize_with_leaders(Team& team, LeaderMeeting& meeting);

bool broadcast(Team& team, char* buffer, std::uint64_t bytes, std::uint32_t root);

// The arguments of a reduction.
struct Reduction {
    const char* send = nullptr;
    char* receive = nullptr;
    std::uint64_t count = 0;
    const Combiner* combiner = nullptr;
};

bool reduce(Team& team, const Reduction& reduction, std::uint32_t root);
bool all_reduce(Team& team, const Reduction& reduction);

// Gathers `bytes` from each member; on all members they are at receive + rank * bytes.
//   send  may be the caller's own place in `receive`
bool all_gather(Team& team, const char* send, char* receive, std::uint64_t bytes);

// gather: from all members to the root. scatter: from the root to all members.
//   all  at the root: `bytes` for each member, by team rank; other members: unused
//   own  may be the root's place in `all`
bool gather(Team& team, const char* own, char* all, std::uint64_t bytes, std::uint32_t root);
bool scatter(Team& team, const char* all, char* own, std::uint64_t bytes, std::uint32_t root);

// The parts of an array, one for each member, the caller included.
struct PairParts {
    std::span<const std::size_t> bytes;    // indexed by team rank
    std::span<const std::size_t> offsets;  // where each part begins
};

// Each member sends a part to every member.
//   send, receive  do not overlap
bool all_to_all(
    Team& team, const char* send, const PairParts& sent, char* receive, const PairParts& received);

// Each member gets the combination of its own elements and those of all members before it; without
// its own ones if the scan is exclusive, and then the first member's `receive` stays unchanged.
enum class ScanKind : std::uint8_t { inclusive, exclusive };
bool scan(Team& team, const Reduction& reduction, ScanKind kind);

// Functions that several of these calls use.

inline void copy(char* target, const char* source, std::uint64_t bytes) noexcept {
    if (target != source) local::move_bytes(target, source, bytes);
}

// The room that elements take in a round. Elements of a program's own type are never put into the
// BoardLine: they may need a larger alignment than it offers.
[[nodiscard]] inline std::uint64_t shown_bytes(const Combiner& combiner,
                                               std::uint64_t bytes) noexcept {
    return combiner.is_own() ? std::max(bytes, BoardLine::inline_bytes_max + 1) : bytes;
}

// Broadcast among the members of this node.
//   from  the place of the member that has the bytes
bool near_broadcast(Team& team, char* buffer, std::uint64_t bytes, std::uint32_t from);

}  // namespace acp::team
