// SPDX-License-Identifier: BSD-3-Clause
// An address of an interface, for tests of the addresses that agents send.
#pragma once

#include <string>

#include "os/interfaces.hpp"

#include "support/ip.hpp"

namespace acp::launch::test {

// `lo` is the loopback interface, and `docker...` a virtual one.
inline os::InterfaceAddress address(const std::string& interface, const std::string& text) {
    os::InterfaceAddress made;
    made.interface = interface;
    made.address = acp::test::ip(text);
    made.prefix_bits = made.address.family == 4 ? 24 : 64;
    made.is_loopback = interface == "lo";
    made.is_virtual = interface.starts_with("docker");
    return made;
}

}  // namespace acp::launch::test
