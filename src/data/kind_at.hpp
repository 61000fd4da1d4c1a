// SPDX-License-Identifier: BSD-3-Clause
// What kind of container begins at an address, for the message of a call that takes another kind: each begins with a mark of its own.
// Any thread; blocks where the address is of another node.
// Tests: tests/conformance/kind_at_test.cpp.
#pragma once

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"

namespace acp::data {

// What a call says that takes a container of a kind ("deque") and found none of it at an address. ok: none of another kind is there
// either. Errors: argument.
[[nodiscard]] base::Status refuse_other_kind(gma::Gma& gma,
                                             const Allocator& allocator,
                                             GlobalAddress address,
                                             const char* kind);

}  // namespace acp::data
