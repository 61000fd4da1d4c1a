// SPDX-License-Identifier: BSD-3-Clause
// Addresses for mappings that several processes have at the same place. Constants only.
#pragma once

#include <array>
#include <cstdint>

namespace acp::os {

// Where nothing lies in programs of any kind, in the order of preference: below the mappings that
// the kernel places, and above the program and its heap. The sanitizers' shadows cover all but the
// last two, of which one or both are memory of the program for each of them.
inline constexpr std::array<std::uintptr_t, 7> window_places = {
    0x1000'0000'0000, 0x2000'0000'0000, 0x3000'0000'0000, 0x4000'0000'0000,
    0x6800'0000'0000, 0x7e90'0000'0000, 0x0010'0000'0000};

}  // namespace acp::os
