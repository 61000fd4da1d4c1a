// SPDX-License-Identifier: BSD-3-Clause
// Private networks of this program, made of the kernel's network namespaces: one with bridges in
// it, and others that are connected to each of these bridges by a pair of virtual Ethernet devices.
// None of them has a name: each vanishes, with its devices, when the last process in it ends, in
// whatever way. Knows nothing of nodes. Each call moves the calling thread, and the processes and
// threads that it starts from then on; call them before there are other threads.
// Tests: tests/tools/acprun_netns_test.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.hpp"
#include "os/socket_address.hpp"

namespace acp::os {

using base::Status;

// Moves the calling thread from the machine's network to a new one with `bridges` bridges, to which
// join_private_network() connects further networks. Errors: system (the message says that root is
// required), unsupported (a kernel without bridges).
Status make_private_network(std::uint32_t bridges);

// Moves the calling thread from the network of make_private_network() to a new one, connected with
// its first bridges.
//   number       distinguishes the devices on the bridges
//   addresses    IPv4 addresses of the interfaces in the new network: of acp0 on the first bridge,
//                acp1 on the next, ...
//   prefix_bits  size of the network that each bridge reaches
// Errors: system, unsupported.
Status join_private_network(std::uint32_t number,
                            std::span<const SocketAddress> addresses,
                            std::uint32_t prefix_bits);

}  // namespace acp::os
