// SPDX-License-Identifier: BSD-3-Clause
// A pattern as the program builds it: the messages of one member of a team. Knows nothing of other members' patterns. One thread at a time.
// Tests: tests/conformance/exchange_test.cpp.
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

inline constexpr std::size_t messages_max = 1U << 20;  // of a member
inline constexpr std::uint64_t message_bytes_end = std::uint64_t{1} << 50;

// Patterns and the plans made of them share a block.
using BlockPointer = std::shared_ptr<const exchange::StridedBlock>;

enum class PatternMessageKind : std::uint8_t { send, receive, copy };

struct PatternMessage {
    PatternMessageKind kind = PatternMessageKind::send;
    std::uint32_t partner = 0;  // its team rank
    GlobalAddress target = 0;   // of a copy
    char* memory = nullptr;     // the caller's; of what is sent it is only read
    std::uint64_t bytes = 0;
    BlockPointer block;  // how they lie there; nullptr: side by side
};

// Of one neighbour, in a buffer.
struct NeighbourPiece {
    int shift = 0;  // as of Pattern::add_send
    std::uint64_t offset_bytes = 0;
    std::uint64_t bytes = 0;
};

class Pattern {
public:
    explicit Pattern(team::Membership members) : members_(std::move(members)) {}

    // Errors of all: argument, limit, address (a copy to memory of no member). Then nothing is added. Throw std::bad_alloc.
    base::Status add_send(int shift, const void* source, std::uint64_t bytes);
    base::Status add_receive(int shift, void* target, std::uint64_t bytes);
    base::Status add_copy(const local::Space& space,
                          GlobalAddress target,
                          const void* source,
                          std::uint64_t bytes);

    //   array  the caller's part of the grid
    base::Status add_halo(const exchange::GridShape& grid, void* array);

    // A message of the source to each of some neighbours, and one into the target from each of others.
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
