// SPDX-License-Identifier: BSD-3-Clause
// Translates the endpoint's reason for severing a node into the one that ranks read in the node
// segment. Any thread.
#pragma once

#include "datagram/endpoint.hpp"
#include "node/loss.hpp"

#include "engine/engine.hpp"

namespace acp::gateway {

[[nodiscard]] constexpr node::NodeFate fate_of(datagram::SeverReason reason) noexcept {
    switch (reason) {
        case datagram::SeverReason::silent:
            return node::NodeFate::silent;
        case datagram::SeverReason::unreachable:
            return node::NodeFate::unreachable;
        case datagram::SeverReason::restarted:
            return node::NodeFate::restarted;
        case datagram::SeverReason::left:
            return node::NodeFate::left;
        case datagram::SeverReason::gave_up:
            return node::NodeFate::gave_up;
        case datagram::SeverReason::no_memory:
            return node::NodeFate::no_memory;
        case datagram::SeverReason::stalled:
            return node::NodeFate::stalled;
        case datagram::SeverReason::mismatched:
            return node::NodeFate::mismatched;
        case datagram::SeverReason::own_socket:
            return node::NodeFate::own_socket;
        case datagram::SeverReason::told:
            break;
    }
    return node::NodeFate::told;
}

// Why the engine has severed a node, on which of several rails it did first, and how long the
// datagrams were that the path did not carry.
[[nodiscard]] inline node::NodeLoss loss_of(const engine::Engine& core,
                                            datagram::NodeId node) noexcept {
    const engine::Engine::Severed severed = core.severed(node);
    const bool has_several = core.rails().size() > 1;
    return {fate_of(severed.reason),
            has_several ? static_cast<std::uint8_t>(severed.rail) : node::every_rail,
            static_cast<std::uint16_t>(severed.stalled_bytes)};
}

}  // namespace acp::gateway
