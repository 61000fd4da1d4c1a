// SPDX-License-Identifier: BSD-3-Clause
// Where the messages that a member sends lie: in place or in its outbox, at which offset of the
// receiver's landing area, and in which parcels they go to other nodes. Short messages to one
// receiver are packed side by side, so that one datagram carries several. Pure; any thread. Tests:
// tests/unit/execution/send_layout_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exchange/send_order.hpp"

namespace acp::execution {

// A message of at least this size in memory that the whole node has mapped is sent to another node
// in place. A receiver on the node reads such messages in place if all its messages in mapped
// memory have at least this size together.
inline constexpr std::uint64_t in_place_bytes_min = 2048;

[[nodiscard]] constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
}

// A message to be laid out.
struct LaidMessage {
    std::uint32_t rank = 0;  // the receiver's team rank
    bool is_near = false;    // the receiver is on the sender's node
    bool is_shared = false;  // every process of the node has its memory mapped
    std::uint64_t bytes = 0;

    // lay_out() sets the fields below.
    bool is_in_place = false;
    std::uint64_t outbox_offset = 0;   // set if !is_in_place
    std::uint64_t landing_offset = 0;  // set if the receiver is on another node
};

struct LaidReceiver {
    std::uint32_t rank = 0;
    bool is_near = false;
    std::vector<std::uint32_t> messages;  // indexes of its messages, in the order they were added
    std::uint64_t landing_bytes = 0;      // size of one landing area
    std::uint32_t parcels = 0;
};

struct LaidParcel {
    std::uint32_t receiver = 0;  // index into SendLayout::receivers
    std::uint32_t word = 0;      // number among the receiver's parcels: which word it sets
    std::uint32_t message = 0;   // the first message in it
    std::uint64_t offset = 0;    // the byte of that message at which the parcel begins
    std::uint64_t bytes = 0;
    std::uint32_t engine = 0;  // the plan's engine
};

struct SendLayout {
    std::vector<LaidMessage> messages;
    std::vector<LaidReceiver> receivers;  // sorted by rank
    std::vector<LaidParcel> parcels;      // order: as they are sent
    std::uint64_t outbox_bytes = 0;       // size of one outbox
};

//   order             the send order of the messages, by index; irrelevant within the node
//   parcel_bytes_max  the most bytes of several messages in one parcel; a longer message goes alone
[[nodiscard]] SendLayout lay_out(std::vector<LaidMessage> messages,
                                 const exchange::SendOrder& order,
                                 std::uint64_t parcel_bytes_max);

}  // namespace acp::execution
