// SPDX-License-Identifier: BSD-3-Clause
// The common part of the scenarios of life_probe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <acp.h>

#include "support/counted_check.hpp"

namespace acp::test {

// The words of a rank's starter memory, as all ranks of the node see them.
[[nodiscard]] std::atomic<std::uint64_t>* words_of(int rank);

// Spins until the word is at least the value.
void await(const std::atomic<std::uint64_t>& word, std::uint64_t value);

// An argument of the scenario, "" when there is none.
[[nodiscard]] std::string argument(int index);

// Each runs a scenario of its file. False: the file has no such scenario.
bool run_calls(const std::string& name);
bool run_refusals(const std::string& name);
bool run_late(const std::string& name);
bool run_pointers(const std::string& name);

}  // namespace acp::test
