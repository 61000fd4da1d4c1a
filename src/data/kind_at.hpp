// SPDX-License-Identifier: BSD-3-Clause
// Finds the kind of container at an address, for the message of a call that takes another kind:
// each kind begins with a mark of its own. Any thread; blocks if the address is on another node.
// Tests: tests/unit/data/allocator_test.cpp, tests/conformance/kind_at_test.cpp.
#pragma once

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"

namespace acp::data {

// The kind of the container at an address, if it is another than this one ("deque"); nullptr: there
// is none of another kind.
[[nodiscard]] const char* other_kind_at(gma::Gma& gma,
                                        const Allocator& allocator,
                                        GlobalAddress address,
                                        const char* kind);

// The failure of a call that takes a container of one kind and got one of another. Errors: argument.
[[nodiscard]] base::Status of_other_kind(GlobalAddress address,
                                         const char* there,
                                         const char* kind);

// The failure of a call that takes a container of a kind and found none at the address. ok: there is
// none of another kind either. Errors: argument.
[[nodiscard]] base::Status refuse_other_kind(gma::Gma& gma,
                                             const Allocator& allocator,
                                             GlobalAddress address,
                                             const char* kind);

}  // namespace acp::data
