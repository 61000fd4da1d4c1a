// SPDX-License-Identifier: BSD-3-Clause
// The collective calls except acp_sync, as steps of the library's life (api/life.hpp): joining,
// changing ranks, leaving. Each either reaches its target state, or the one that docs/life.md names
// for a failure, with nothing half open. The meeting that ends the call spreads the failure of a
// single process, so that the call fails on all ranks or on none, and they agree on the epoch. One
// thread of a process at a time, which the caller ensures by taking the first step.
// Tests: tests/life, tests/api.
#pragma once

#include <cstdint>

#include "api/library.hpp"
#include "base/status.hpp"

namespace acp::api {

// Joins; the step `join` is taken. Afterwards joined, or not initialised.
//   argc, argv  both NULL, or as main has them
base::Status join(Library& instance, int* argc, char*** argv);

// Becomes another rank; the step `reset` is taken. Afterwards in use (also if the requested ranks
// are no permutation, or a rank died before anything was changed), or given up.
base::Status reset(Library& instance, std::uint32_t rank);

// Leaves; the step `leave` is taken, from in use or given up. Afterwards over, also after a
// failure, and no process writes into memory of this one.
base::Status leave(Library& instance);

}  // namespace acp::api
