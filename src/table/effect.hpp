// SPDX-License-Identifier: BSD-3-Clause
// What a call on a table did. Tests: tests/unit/table.
#pragma once

#include <cstdint>

namespace acp::table {

enum class Effect : std::uint8_t {
    done,          // found, inserted, replaced, erased, changed
    present,       // the key has an entry, which is unchanged
    absent,        // there is no entry of this key
    no_room,       // there is no memory
    no_number,     // the value has not 8 bytes
    out_of_range,  // the count would be less than 1, or ended_count or more, and stays as it is
    no_table,      // result of an operation on another rank: no table of this identity is there
    // the table's words contradict each other, though no operation has changed them: the program
    // has overwritten them
    damaged,
};

// Whether a call that returned this has found out nothing about its key.
[[nodiscard]] constexpr bool is_failure(Effect effect) noexcept {
    return effect == Effect::no_room || effect == Effect::damaged;
}

}  // namespace acp::table
