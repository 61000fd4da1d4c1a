// SPDX-License-Identifier: BSD-3-Clause
// Networks of this program's own, made of the kernel's network namespaces: one with a bridge in it, and others
// that hang on that bridge by a pair of virtual Ethernet devices. None of them has a name anywhere: each vanishes,
// with its devices, when the last process in it ends, however that ends. Knows nothing of nodes. Each call moves
// the calling thread, and what it starts from then on; to be made before there are other threads.
// Tests: tests/tools/acprun_netns_test.py.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "os/socket_address.hpp"

namespace acp::os {

using base::Status;

inline constexpr const char* private_interface = "acp0";  // of each network on the bridge

// Leaves the machine's networks for a new one with a bridge, to which join_private_network() adds.
// Errors: system (the message says that it takes root), unsupported (a kernel without bridges).
Status make_private_network();

// Leaves the network made by make_private_network(), in which the caller is, for a new one on its bridge.
//   number       tells the devices on the bridge apart
//   address      IPv4, of private_interface there
//   prefix_bits  of the network that the bridge reaches
// Errors: system, unsupported.
Status join_private_network(std::uint32_t number,
                            const SocketAddress& address,
                            std::uint32_t prefix_bits);

}  // namespace acp::os
