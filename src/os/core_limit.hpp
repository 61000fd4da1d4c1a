// SPDX-License-Identifier: BSD-3-Clause
// Keeps this process's memory out of core dumps, for a process whose keys also lie in memory that
// another library allocated and that cannot be excluded piece by piece. Children start with the
// same limit unless ChildPlan says otherwise (os/child.hpp). Call from one thread.
#pragma once

#include <cstdint>

namespace acp::os {

// Makes the kernel write no core dump of this process from now on, to a file or to a program.
// Returns the previous soft RLIMIT_CORE, for children that hold no keys. The soft limit can be
// raised again; the hard limit is not changed.
std::uint64_t forbid_core_dumps() noexcept;

}  // namespace acp::os
