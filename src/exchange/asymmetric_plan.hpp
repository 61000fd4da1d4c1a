// SPDX-License-Identifier: BSD-3-Clause
// Plans of patterns in which nodes send different things, on any network. There the mirror of the engine that sends may be busy with what
// somebody else sends, so each target chooses the engines that receive: it knows what arrives. Each source then queues its own
// messages, for which it needs to know nothing of the others but these choices. Pure; any thread.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/asymmetric_plan_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "exchange/fluid.hpp"
#include "exchange/network_model.hpp"

namespace acp::exchange {

// One message of a pattern.
struct PatternCopy {
    ModelNode from = 0;
    ModelNode to = 0;
    std::uint64_t bytes = 0;
};

// One message of a node, as the node itself queues it.
struct LeavingMessage {
    std::uint64_t bytes = 0;
    ModelLinkIndex first_link = 0;  // of its route
};

enum class ReceiveEngines : std::uint8_t {
    of_sender,  // the engine that receives has the number of the one that sends
    of_target,  // the target chooses
};

// What a target chooses: for each arriving message an engine, so that all receive about as much. Longest first, each to the engine that has
// least so far.   engines  >= 1
[[nodiscard]] std::vector<std::uint32_t> choose_receive_engines(
    std::span<const std::uint64_t> arriving_bytes, unsigned engines);

// What a source does: for each of its engines the messages it sends, by index, in order. Longest first, each to the engine that is free first;
// but of messages that are not much shorter one that leaves over another link than what the other engines send.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> queue_messages(
    std::span<const LeavingMessage> messages, const NodeRates& node);

// The queues of all nodes.
// Errors: argument (no such node, no route, a message to its own node), limit.
[[nodiscard]] base::Result<std::vector<FluidQueue>> plan_copies(const NetworkModel& model,
                                                                std::span<const PatternCopy> copies,
                                                                ReceiveEngines receive);

// A time that the transfer takes at least, whatever the plan is: by the loads of links, of what nodes send and receive, and of engines; and of the
// longest message. Errors: as of plan_copies().
[[nodiscard]] base::Result<double> copies_bound_us(const NetworkModel& model,
                                                   std::span<const PatternCopy> copies);

}  // namespace acp::exchange
