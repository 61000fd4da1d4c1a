// SPDX-License-Identifier: BSD-3-Clause
// Handles what other nodes report about commands of this node's processes, except their ENDs
// (OwnCommands::on_end): old values, failures, refusals, results; and the question whether a
// command is still outstanding. Recognises reports from nodes that the command does not involve.
// One thread.
// Tests: tests/unit/router/router_test.cpp, room_test.cpp, failure_test.cpp.
#pragma once

#include "router/activity.hpp"
#include "router/nodes.hpp"
#include "router/outbox.hpp"
#include "router/own_commands.hpp"
#include "router/placer.hpp"
#include "router/resends.hpp"

namespace acp::router {

class Answers {
public:
    Answers(Nodes& nodes, OwnCommands& own, Resends& resends, Placer& placer, Outbox& outbox);

    // WIRE-114, WIRE-115: an old value, or a failure.
    [[nodiscard]] Fault on_long(const RouterPeer& from, const LongFrame& frame);

    // WIRE-116: another node had no room for a part of a command.
    [[nodiscard]] Fault on_refused(const RouterPeer& from, const RefusedFrame& frame);

    // WIRE-118: the result of an invoke.
    [[nodiscard]] Fault on_result(const RouterPeer& from, const ResultFrame& frame, Bytes result);

    // ORD-32: answers OVER for a command that is not outstanding, and nothing for one that is.
    [[nodiscard]] Fault on_ask(RouterPeer& from, const ShortFrame& frame);

private:
    [[nodiscard]] Fault on_value(const RouterPeer& from, std::uint32_t index, std::uint64_t value);

    Nodes& nodes_;
    OwnCommands& own_;
    Resends& resends_;
    Placer& placer_;
    Outbox& outbox_;
};

}  // namespace acp::router
