// SPDX-License-Identifier: BSD-3-Clause
// Copies from memory of this node to another one, cut into pieces as long as a datagram carries: read straight into the
// datagram, left where they are until it is sealed, or, where placement needs time, staged in a buffer first. And old values
// of atomics on their way to a third node. Knows nothing of who asked. One thread.
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

inline constexpr std::uint64_t lasting_bytes_min = 512;  // of a piece left where it is

class PieceSender {
public:
    PieceSender(Nodes& nodes,
                Operations& operations,
                Backlog& backlog,
                Outbox& outbox,
                Ends& ends,
                Placement& placement,
                Activity& activity);

    // Begins a copy: a short one is sent at once if nothing waits for that node. false: no room for a record, nothing done.
    [[nodiscard]] bool begin(const Task& task, RouterPeer& to);

    // The old value of an atomic of a process of this node, to be sent again to the target's node. false: no room for a
    // record.
    [[nodiscard]] bool begin_value(const Outstanding& command, std::uint64_t value);

    // The next piece of a copy whose turn it is.
    [[nodiscard]] StepOutcome step(std::uint32_t index, RouterPeer& to);

    // A staged piece whose turn it is.
    [[nodiscard]] StepOutcome step_staged(const OperationRecord& piece, RouterPeer& to);

    // An old value whose turn it is.
    [[nodiscard]] StepOutcome step_value(const OperationRecord& value, RouterPeer& to);

    // Placement has read a staged piece, or could not.
    void on_staged(std::uint32_t index, base::Code code);

private:
    enum class SendResult : std::uint8_t { sent, failed, no_room, not_now };

    // Bytes of memory of this node on their way to another.
    struct PutPiece {
        GlobalAddress source = 0;
        GlobalAddress target = 0;
        std::uint64_t total = 0;  // of the whole copy
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
