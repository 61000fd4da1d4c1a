// SPDX-License-Identifier: BSD-3-Clause
// The order, and the pieces, in which a member issues its messages to the network. It is a plan for
// a node with one queue to the network: the pieces of all engines, merged in the order of their
// planned begins. Pure; any thread.
// Tests: tests/unit/exchange/send_order_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "exchange/network_model.hpp"

namespace acp::exchange {

// A message of the planning member.
struct SentMessage {
    ModelNode to = 0;
    std::uint64_t bytes = 0;
};

// A part of a message.
struct SentPiece {
    std::uint32_t message = 0;  // index of the message
    std::uint64_t offset_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint32_t engine = 0;  // the planned engine of the node

    friend bool operator==(const SentPiece&, const SentPiece&) = default;
};

struct SendOrder {
    std::vector<SentPiece> pieces;  // together all messages; a message of 0 bytes has none
    double predicted_us = 0;        // time of the whole exchange; 0: no network is known
    double bound_us = 0;            // lower bound of all plans; 0: unknown
    std::uint32_t engines = 0;      // engines of a node of the network; 0: no network is known

    friend bool operator==(const SendOrder&, const SendOrder&) = default;
};

// The least length of a message's pieces for several rails, except the last piece.
inline constexpr std::uint64_t rail_piece_bytes_min = 32 << 10;

// The order without a known network: longest first. Messages stay whole on one rail; for several
// rails they are cut into pieces, so that all rails can be busy for the same time.
//   rails  >= 1
[[nodiscard]] SendOrder longest_first(std::span<const SentMessage> messages, unsigned rails = 1);

// The planner's order, at standard effort, as if every node sent the same messages as this one.
// Messages to the own node take no time. Errors: argument (no torus; a message to a node that it
// does not have), limit.
//   torus  of at least own + 1 nodes
//   rails  >= 1; several: long pieces are cut as by longest_first(), in place, so that some can
//          take
//          another rail when one has become slow
[[nodiscard]] base::Result<SendOrder> planned_order(const NetworkModel& torus,
                                                    ModelNode own,
                                                    std::span<const SentMessage> messages,
                                                    unsigned rails = 1);

}  // namespace acp::exchange
