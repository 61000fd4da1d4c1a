// SPDX-License-Identifier: BSD-3-Clause
// Collective calls in which every rank makes an object, all agree on success, and all get some
// words from each. The words travel as numbers that a meeting gathers (node::Member::gather), half
// a word at a time. So they never pass through memory that the program sees, and the gateways carry
// them like the numbers of acp_reset. One thread of each rank, inside a MeetingCall.
// Tests: tests/conformance/register_all_test.cpp, workspace_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "api/world_call.hpp"
#include "base/status.hpp"

namespace acp::api {

struct GatheringCall {
    const char* name;
    WorldCall world_call;
    std::uint32_t words;  // number of words per rank
};

// Calls make(own) on every rank, then distributes the words of all ranks. A failure of one rank is
// a failure of all: that rank returns its own message, the others its code.
//   make  may throw std::bad_alloc; writes `words` words
//   all   becomes procs * words words, by rank
base::Status gather_words(const GatheringCall& call,
                          const std::function<base::Status(std::span<std::uint64_t>)>& make,
                          std::vector<std::uint64_t>& all);

}  // namespace acp::api
