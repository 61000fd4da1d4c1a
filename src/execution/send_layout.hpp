// SPDX-License-Identifier: BSD-3-Clause
// Where the messages that a member sends lie on their way: in place, or in its outbox; at which offset of the receiver's landing area; and in
// which parcels they go to other nodes. Short messages to one receiver lie side by side, so that one datagram carries several. Pure; any
// thread. Tests: tests/unit/execution/send_layout_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exchange/send_order.hpp"

namespace acp::execution {

// Messages that lie in memory that all of the node have mapped, and are so long, are sent to other nodes from there; on a node they are read there,
// if all to one receiver together are so long.
inline constexpr std::uint64_t in_place_bytes_min = 2048;

[[nodiscard]] constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
}

// A message as it is to be sent.
struct LaidMessage {
    std::uint32_t rank = 0;  // of its receiver
    bool is_near = false;    // the receiver is on the sender's node
    bool is_shared = false;  // all of the node have its memory mapped
    std::uint64_t bytes = 0;

    // Set by lay_out.
    bool is_in_place = false;
    std::uint64_t outbox_offset = 0;   // of a message that is not in place
    std::uint64_t landing_offset = 0;  // at a receiver on another node
};

struct LaidReceiver {
    std::uint32_t rank = 0;
    bool is_near = false;
    std::vector<std::uint32_t> messages;  // by index, in the order in which they were added
    std::uint64_t landing_bytes = 0;      // in each round
    std::uint32_t parcels = 0;
};

struct LaidParcel {
    std::uint32_t receiver = 0;  // index
    std::uint32_t word = 0;      // its number among the receiver's
    std::uint32_t message = 0;   // the first one in it, and where in that it begins
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t engine = 0;  // of the plan
};

struct SendLayout {
    std::vector<LaidMessage> messages;
    std::vector<LaidReceiver> receivers;  // by rank
    std::vector<LaidParcel> parcels;      // in the order in which they go
    std::uint64_t outbox_bytes = 0;       // in each round
};

//   order             of the messages, by index; of those to the own node it matters not
//   parcel_bytes_max  of several messages in one datagram; a message that is longer goes alone
[[nodiscard]] SendLayout lay_out(std::vector<LaidMessage> messages,
                                 const exchange::SendOrder& order,
                                 std::uint64_t parcel_bytes_max);

}  // namespace acp::execution
