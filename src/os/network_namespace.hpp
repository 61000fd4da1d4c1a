// SPDX-License-Identifier: BSD-3-Clause
// Private networks of this program, made of the kernel's network namespaces: one with a bridge in it, and others that are
// connected to that bridge by a pair of virtual Ethernet devices. None of them has a name: each vanishes, with its devices,
// when the last process in it ends, in whatever way. Knows nothing of nodes. Each call moves the calling thread, and the
// processes and threads that it starts from then on; call them before there are other threads.
// Tests: tests/tools/acprun_netns_test.py.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "os/socket_address.hpp"

namespace acp::os {

using base::Status;

// the interface in each network on the bridge
inline constexpr const char* private_interface = "acp0";

// Leaves the machine's networks for a new one with a bridge, to which join_private_network() adds networks.
// Errors: system (the message says that root is required), unsupported (a kernel without bridges).
Status make_private_network();

// Leaves the network made by make_private_network(), in which the caller must be, for a new one on its bridge.
//   number       distinguishes the devices on the bridge
//   address      IPv4 address of private_interface in the new network
//   prefix_bits  size of the network that the bridge reaches
// Errors: system, unsupported.
Status join_private_network(std::uint32_t number,
                            const SocketAddress& address,
                            std::uint32_t prefix_bits);

}  // namespace acp::os
