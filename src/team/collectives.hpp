// SPDX-License-Identifier: BSD-3-Clause
// The collective calls, as one member makes its part of them: after Team::begin_call, with arguments that were checked. All return false
// when the team is broken, or late (synchronize() alone). For the one thread that is in a call on the team.
//
// On a node all go through the board (board.hpp), between nodes through messages of the nodes' leaders, or of the root. Long buffers
// are cut into segments.
// Tests: tests/conformance/team_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "team/combiner.hpp"
#include "team/team.hpp"

namespace acp::team {

// On a node the members of at most so many meet without their leader.
inline constexpr std::uint32_t flat_members_max = 8;

// On a node so much goes by one round of the board where it could also go otherwise.
inline constexpr std::uint64_t board_short_bytes = 4096;

// So many nodes at most exchange their parts of a sum each with each.
inline constexpr std::uint32_t flat_nodes_max = 8;

// Of what is broadcast or combined, on each member, before what follows.   nodes  whose parts are kept at once
[[nodiscard]] constexpr std::uint64_t segment_bytes(std::uint32_t nodes) noexcept {
    constexpr std::uint64_t all_bytes = 4 << 20;
    constexpr std::uint64_t bytes_max = 512 << 10;
    const std::uint64_t bytes = all_bytes / nodes;
    return bytes > bytes_max ? bytes_max : bytes < board_chunk_bytes ? board_chunk_bytes : bytes;
}

// Meets. After a failure because it is late, the next call goes on with it.
bool synchronize(Team& team);

inline constexpr std::uint64_t notice_bytes_max = 1024;

// Meets, and brings each member the notices of all.
//   notice   at most notice_bytes_max bytes; may differ in length
//   notices  room for notice_bytes_max bytes of each member, where they go by team rank
//   sizes    of each member's notice
bool synchronize_with_notices(Team& team,
                              std::span<const char> notice,
                              char* notices,
                              std::size_t* sizes);

bool broadcast(Team& team, char* buffer, std::uint64_t bytes, std::uint32_t root);

// What a reduction works on.
struct Reduction {
    const char* send = nullptr;
    char* receive = nullptr;
    std::uint64_t count = 0;
    const Combiner* combiner = nullptr;
};

bool reduce(Team& team, const Reduction& reduction, std::uint32_t root);
bool all_reduce(Team& team, const Reduction& reduction);

// What each member has, at receive + rank * bytes on all members.
//   send  may be its own place there
bool all_gather(Team& team, const char* send, char* receive, std::uint64_t bytes);

// Of all members to the root, and of the root to all members.
//   all  at the root: `bytes` for each member, by team rank; elsewhere anything
//   own  may be the root's place there
bool gather(Team& team, const char* own, char* all, std::uint64_t bytes, std::uint32_t root);
bool scatter(Team& team, const char* all, char* own, std::uint64_t bytes, std::uint32_t root);

// What each member has for each other one, and for itself, in one array.
struct PairParts {
    std::span<const std::size_t> bytes;    // for each member
    std::span<const std::size_t> offsets;  // where they begin
};

// From each member to each other one.   send, receive  do not overlap
bool all_to_all(
    Team& team, const char* send, const PairParts& sent, char* receive, const PairParts& received);

// Of each member the combination of what it and all before it have.
bool scan(Team& team, const Reduction& reduction);

// Parts of those that other files use too.

inline void copy(char* target, const char* source, std::uint64_t bytes) noexcept {
    if (target != source && bytes != 0) std::memcpy(target, source, bytes);
}

// What elements take in a round. Own elements are never published beside their flag: they may want a better alignment.
[[nodiscard]] inline std::uint64_t shown_bytes(const Combiner& combiner,
                                               std::uint64_t bytes) noexcept {
    return combiner.is_own() ? std::max(bytes, BoardLine::inline_bytes_max + 1) : bytes;
}

// Of the members of the node alone.   from  the place of the one that has the bytes
bool near_broadcast(Team& team, char* buffer, std::uint64_t bytes, std::uint32_t from);

}  // namespace acp::team
