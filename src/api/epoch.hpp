// SPDX-License-Identifier: BSD-3-Clause
// The collective calls but acp_sync, as steps of the library's life (api/life.hpp): joining, changing ranks, leaving.
// Each either reaches the state it is for, or leaves the one that docs/life.md names, with nothing half open. What fails
// in one process alone is told to all in the meeting that ends the call, so that it fails on all of them or on none,
// and they agree on the epoch. One thread of a process at a time, which the caller sees to by taking the first step.
// Tests: tests/life, tests/api.
#pragma once

#include <cstdint>

#include "api/library.hpp"
#include "base/status.hpp"

namespace acp::api {

// Joins; the step `join` is taken. Afterwards joined, or not initialised.
//   argc, argv  both NULL, or as main has them
base::Status join(Library& instance, int* argc, char*** argv);

// Becomes another rank; the step `reset` is taken. Afterwards in use (also where the ranks asked for do not fit, or a
// rank died before anything was changed), or given up.
base::Status reset(Library& instance, std::uint32_t rank);

// Leaves; the step `leave` is taken, from in use or given up. Afterwards over, whatever is returned, and nobody writes
// into memory of this process any more.
base::Status leave(Library& instance);

}  // namespace acp::api
