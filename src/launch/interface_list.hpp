// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of one machine as words of a line, in which its agent sends them to the launcher,
// and as a text for the user. Pure; any thread. Tests: tests/unit/launch/interface_list_test.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/interfaces.hpp"

namespace acp::launch {

using Interfaces = std::vector<os::InterfaceAddress>;

// Most addresses that to_words() writes, so that they fit in a line of the channel. Of more,
// virtual interfaces are left out first.
inline constexpr std::size_t interfaces_max = 512;

// Three words for each address: interface, address with the bits of its prefix, and letters of what
// is true of it: l loopback, c carrier, d default route, v virtual, or "-" where none is: "eth0
// 10.0.0.7/8 cd docker0 172.17.0.1/16 v". The MTU is not among them.
[[nodiscard]] std::string to_words(const Interfaces& interfaces);

// Reads what to_words() writes. Errors: argument (the message has the word); limit: more than
// interfaces_max.
base::Result<Interfaces> interfaces_from(std::string_view words);

// "eth0 10.0.0.7, docker0 172.17.0.1"; "none".
[[nodiscard]] std::string text_of(const Interfaces& interfaces);

}  // namespace acp::launch
