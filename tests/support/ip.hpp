// SPDX-License-Identifier: BSD-3-Clause
// An address from its text, for tests of src/os and the layers above it.
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "os/socket_address.hpp"

namespace acp::test {

// A text that is no address fails the test.
inline os::SocketAddress ip(const std::string& text) {
    const auto address = os::parse_ip(text);
    EXPECT_TRUE(address.has_value()) << text;
    return address.value_or(os::SocketAddress{});
}

}  // namespace acp::test
