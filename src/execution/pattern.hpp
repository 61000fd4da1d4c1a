// SPDX-License-Identifier: BSD-3-Clause
// A pattern as the program builds it: the messages of one member of a team. Knows no other member's
// pattern. One thread at a time.
// Tests: tests/unit/execution/pattern_test.cpp, tests/conformance/exchange_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "exchange/grid_halo.hpp"
#include "local/space.hpp"
#include "team/membership.hpp"

namespace acp::execution {

using memory::GlobalAddress;

inline constexpr std::size_t messages_max = 1U << 20;  // the most messages that one member adds
inline constexpr std::uint64_t message_bytes_end = std::uint64_t{1} << 50;

// The block is shared by patterns and the plans compiled from them.
using BlockPointer = std::shared_ptr<const exchange::StridedBlock>;

enum class PatternMessageKind : std::uint8_t { send, receive, copy };

struct PatternMessage {
    PatternMessageKind kind = PatternMessageKind::send;
    std::uint32_t partner = 0;  // its team rank
    GlobalAddress target = 0;   // set for a copy
    char* memory = nullptr;     // the caller's buffer; a send only reads it
    std::uint64_t bytes = 0;
    BlockPointer block;  // layout of the bytes in `memory`; nullptr: contiguous
};

// The piece of a buffer that is sent to, or received from, one neighbour.
struct NeighbourPiece {
    int shift = 0;  // the `shift` of Pattern::add_send
    std::uint64_t offset_bytes = 0;
    std::uint64_t bytes = 0;
};

class Pattern {
public:
    explicit Pattern(team::Membership members) : members_(std::move(members)) {}

    // Errors of the add functions: argument, limit, address, stale and peer
    // (add_copy: the target is no memory of a member, no longer, or of one that has left).
    // On an error nothing is added. All throw std::bad_alloc.
    base::Status add_send(int shift, const void* source, std::uint64_t bytes);
    base::Status add_receive(int shift, void* target, std::uint64_t bytes);
    base::Status add_copy(const local::Space& space,
                          GlobalAddress target,
                          const void* source,
                          std::uint64_t bytes);

    //   array  the caller's part of the grid
    base::Status add_halo(const exchange::GridShape& grid, void* array);

    // Adds a send from `source` for each element of `to`, and a receive into `target` for each
    // element of `from`.
    base::Status add_neighbours(const void* source,
                                std::span<const NeighbourPiece> to,
                                void* target,
                                std::span<const NeighbourPiece> from);

    [[nodiscard]] const std::vector<PatternMessage>& messages() const noexcept { return messages_; }

    [[nodiscard]] const team::Membership& members() const noexcept { return members_; }

private:
    [[nodiscard]] base::Status check(const char* name,
                                     const void* memory,
                                     std::uint64_t bytes) const;
    [[nodiscard]] base::Result<std::uint32_t> member_at(int shift) const;

    team::Membership members_;
    std::vector<PatternMessage> messages_;
};

}  // namespace acp::execution
