// SPDX-License-Identifier: BSD-3-Clause
// Why a node was severed, as ranks are told it. Any thread.
#pragma once

#include "datagram/endpoint.hpp"
#include "node/loss.hpp"

namespace acp::gateway {

[[nodiscard]] constexpr node::NodeFate fate_of(datagram::SeverReason reason) noexcept {
    switch (reason) {
        case datagram::SeverReason::silent:
            return node::NodeFate::silent;
        case datagram::SeverReason::unreachable:
            return node::NodeFate::unreachable;
        case datagram::SeverReason::restarted:
            return node::NodeFate::restarted;
        case datagram::SeverReason::closed:
            return node::NodeFate::closed;
        case datagram::SeverReason::no_memory:
            return node::NodeFate::no_memory;
        case datagram::SeverReason::narrowed:
            return node::NodeFate::narrowed;
        case datagram::SeverReason::mismatched:
            return node::NodeFate::mismatched;
        case datagram::SeverReason::own_socket:
            return node::NodeFate::own_socket;
        case datagram::SeverReason::told:
            break;
    }
    return node::NodeFate::told;
}

}  // namespace acp::gateway
