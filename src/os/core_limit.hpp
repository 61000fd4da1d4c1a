// SPDX-License-Identifier: BSD-3-Clause
// Keeps this process's memory out of core dumps: for a process that holds keys where others' code put them. The
// children start with the same limit unless told otherwise (os/child.hpp). Call from one thread.
#pragma once

#include <cstdint>

namespace acp::os {

// No core dump is written of this process from now on, to a file or to a program. Returns the soft RLIMIT_CORE
// found, for children that hold no keys. It can be raised again up to the hard limit, which stays.
std::uint64_t forbid_core_dumps() noexcept;

}  // namespace acp::os
