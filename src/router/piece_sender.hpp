// SPDX-License-Identifier: BSD-3-Clause
// Sends copies from memory of this node to another one, cut into pieces as long as a datagram
// carries. A piece is read directly into the datagram; or, if it is long and mapped, only when the
// endpoint seals the datagram; or into a staging buffer first, if placement cannot read it at once.
// Also sends old values of atomics to third nodes. Does not know where a command came from. One
// thread.
// Tests: tests/unit/router/room_test.cpp.
#pragma once

#include <cstdint>

#include "router/activity.hpp"
#include "router/backlog.hpp"
#include "router/ends.hpp"
#include "router/nodes.hpp"
#include "router/operations.hpp"
#include "router/outbox.hpp"
#include "router/placement.hpp"

namespace acp::router {

// Shortest piece that is not copied into the datagram before sealing.
inline constexpr std::uint64_t lasting_bytes_min = 512;

class PieceSender {
public:
    PieceSender(Nodes& nodes,
                Operations& operations,
                Backlog& backlog,
                Outbox& outbox,
                Ends& ends,
                Placement& placement,
                Activity& activity);

    // Begins a copy: a short one is sent at once if no other work waits for that node. Returns
    // false if there is no free record; nothing was done then.
    [[nodiscard]] bool begin(const Task& task, RouterPeer& to);

    // Sends a whole copy that is ordered after others (WIRE-121), if that can be done now. False:
    // nothing was done.
    //   record  is_ordered()
    [[nodiscard]] bool send_after(const Outstanding& record, RouterPeer& to);

    // Sends the old value of an atomic of this node's process to the target's node again. Returns
    // false if there is no free record.
    [[nodiscard]] bool begin_value(const Outstanding& command, std::uint64_t value);

    // Sends the next piece of a copy whose turn it is.
    [[nodiscard]] StepOutcome step(std::uint32_t index, RouterPeer& to);

    // Sends a staged piece whose turn it is.
    [[nodiscard]] StepOutcome step_staged(const OperationRecord& piece, RouterPeer& to);

    // Sends an old value whose turn it is.
    [[nodiscard]] StepOutcome step_value(const OperationRecord& value, RouterPeer& to);

    // Call when placement has read a staged piece, or failed to.
    void on_staged(std::uint32_t index, base::Code code);

private:
    enum class SendResult : std::uint8_t { sent, failed, no_room, not_now };

    // A piece of a copy from memory of this node.
    struct PutPiece {
        GlobalAddress source = 0;
        GlobalAddress target = 0;
        std::uint64_t total = 0;  // bytes of the whole copy
        std::uint64_t token = 0;
        std::uint32_t initiator = 0;
        std::uint32_t bytes = 0;
    };

    [[nodiscard]] SendResult send(RouterPeer& to, const PutPiece& piece);
    [[nodiscard]] StepOutcome stage(std::uint32_t index, std::uint32_t bytes);
    [[nodiscard]] std::uint32_t piece_bytes(RouterPeer& to) const noexcept;
    void count_sent(std::uint64_t bytes) noexcept;

    Nodes& nodes_;
    Operations& operations_;
    Backlog& backlog_;
    Outbox& outbox_;
    Ends& ends_;
    Placement& placement_;
    Activity& activity_;
};

}  // namespace acp::router
