// SPDX-License-Identifier: BSD-3-Clause
// In which order, and in which pieces, a member hands its messages to the network: what is left of a plan where a node has one queue to the
// network, into which the pieces of all engines go as they would begin. Pure; any thread.
// Tests: tests/unit/exchange/send_order_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "exchange/network_model.hpp"

namespace acp::exchange {

// A message of the member that plans.
struct SentMessage {
    ModelNode to = 0;
    std::uint64_t bytes = 0;
};

// A part of a message.
struct SentPiece {
    std::uint32_t message = 0;  // its index
    std::uint64_t offset_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint32_t engine = 0;  // of the node, by which it is sent

    friend bool operator==(const SentPiece&, const SentPiece&) = default;
};

struct SendOrder {
    std::vector<SentPiece> pieces;  // together all messages; those of 0 bytes have none
    double predicted_us = 0;        // of the whole exchange; 0: no network is known
    double bound_us = 0;            // no plan takes less; 0: none is known
    std::uint32_t engines = 0;      // that a node of the network has; 0: no network is known

    friend bool operator==(const SendOrder&, const SendOrder&) = default;
};

// Pieces of a message for several rails are not shorter, but for the last one.
inline constexpr std::uint64_t rail_piece_bytes_min = 32 << 10;

// Where nothing is known of the network: longest first, whole, or where several rails lead to the same places, in so many pieces that each
// rail can be given what it sends in the same time.   rails  >= 1
[[nodiscard]] SendOrder longest_first(std::span<const SentMessage> messages, unsigned rails = 1);

// By the planner, at standard effort, as if every node sent what this one sends. Messages to the own node take no time.
//   torus  of at least own + 1 nodes
//   rails  >= 1; several: long pieces of an engine are cut as by longest_first(), one behind the other, so that some can take another rail when
//          one has become slow
// Errors: argument (no torus; a message to a node that it does not have), limit.
[[nodiscard]] base::Result<SendOrder> planned_order(const NetworkModel& torus,
                                                    ModelNode own,
                                                    std::span<const SentMessage> messages,
                                                    unsigned rails = 1);

}  // namespace acp::exchange
