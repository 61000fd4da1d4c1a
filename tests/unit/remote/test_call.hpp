// SPDX-License-Identifier: BSD-3-Clause
// An invoke of a test, whose arguments lie anywhere: invoke() writes them where the link reads
// them. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "remote/link.hpp"

namespace acp::remote::test {

struct TestCall {
    std::uint32_t process = 0;
    std::uint32_t operation = 0;
    std::span<const std::byte> arguments;  // read before invoke() returns
};

// False: there is no room now.
[[nodiscard]] inline bool invoke(Link& link,
                                 std::uint64_t token,
                                 const TestCall& call,
                                 std::uint32_t place) {
    std::ranges::copy(call.arguments, link.arguments_at(place));
    return link.invoke(token, {call.process, call.operation,
                               static_cast<std::uint32_t>(call.arguments.size()), place});
}

}  // namespace acp::remote::test
