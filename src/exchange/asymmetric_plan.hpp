// SPDX-License-Identifier: BSD-3-Clause
// Plans of patterns in which nodes send different messages, on any network. The receive engine that
// mirrors the sending engine may be busy with another node's message, so each target chooses its
// receive engines: it knows all messages that arrive. Each source then queues its own messages, for
// which it needs only these choices. Pure; any thread.
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
    ModelLinkIndex first_link = 0;  // the first link of its route
};

enum class ReceiveEngines : std::uint8_t {
    of_sender,  // the engine that receives has the number of the one that sends
    of_target,  // the target chooses
};

// The choice of a target: an engine for each arriving message, so that all engines receive about
// the same. Longest first, each to the engine with the least so far.
//   engines  >= 1
[[nodiscard]] std::vector<std::uint32_t> choose_receive_engines(
    std::span<const std::uint64_t> arriving_bytes, unsigned engines);

// The queues of a source: for each of its engines the indexes of its messages, in order. Longest
// first, each to the engine that is free first; but among messages that are not much shorter, one
// over a link that no other engine is using.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> queue_messages(
    std::span<const LeavingMessage> messages, const NodeRates& node);

// The queues of all nodes.
// Errors: argument (no such node, no route, a message to its own node), limit.
[[nodiscard]] base::Result<std::vector<FluidQueue>> plan_copies(const NetworkModel& model,
                                                                std::span<const PatternCopy> copies,
                                                                ReceiveEngines receive);

// A lower bound of the transfer for any plan: from the loads of links, of sending and receiving
// nodes, and of engines; and from the longest message. Errors: those of plan_copies().
[[nodiscard]] base::Result<double> copies_bound_us(const NetworkModel& model,
                                                   std::span<const PatternCopy> copies);

}  // namespace acp::exchange
