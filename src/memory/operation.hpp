// SPDX-License-Identifier: BSD-3-Clause
// The table of operations: for each its name, its operands, and the number that denotes it in
// rings, messages and frames. Code that names, checks or counts operations asks this table; code
// that runs them has a switch without a default, for which the compiler warns as long as a new
// operation is missing (local/direct.hpp, sim/memory.cpp). Knows no memory and no path. Any thread.
// Tests: tests/unit/memory/operation_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace acp::memory {

// Frames (WIRE-111), messages between processes and the rings of the gateway carry these numbers:
// they never change. The word of an atomic is at source; its old value goes to target.
enum class Operation : std::uint8_t {
    copy = 0,
    compare_swap = 1,
    swap = 2,
    add = 3,
    bit_xor = 4,
    bit_or = 5,
    bit_and = 6,
    min = 7,  // signed, like max
    max = 8
};

struct OperationRow {
    Operation operation;
    bool is_atomic;          // works on one aligned word of 4 or 8 bytes, with an operand
    bool has_expected;       // also has a value to compare with
    std::string_view name;   // name in traces
    std::string_view call;   // name of the interface call; for an atomic the call on 4-byte words
    std::string_view call8;  // name of the call on 8-byte words
};

// In the order of the operations' numbers.
inline constexpr std::array operation_table = {
    OperationRow{Operation::copy, false, false, "copy", "acp_copy", "acp_copy"},
    OperationRow{Operation::compare_swap, true, true, "cas", "acp_cas4", "acp_cas8"},
    OperationRow{Operation::swap, true, false, "swap", "acp_swap4", "acp_swap8"},
    OperationRow{Operation::add, true, false, "add", "acp_add4", "acp_add8"},
    OperationRow{Operation::bit_xor, true, false, "xor", "acp_xor4", "acp_xor8"},
    OperationRow{Operation::bit_or, true, false, "or", "acp_or4", "acp_or8"},
    OperationRow{Operation::bit_and, true, false, "and", "acp_and4", "acp_and8"},
    OperationRow{Operation::min, true, false, "min", "acp_min4", "acp_min8"},
    OperationRow{Operation::max, true, false, "max", "acp_max4", "acp_max8"},
};

inline constexpr std::size_t operation_count = operation_table.size();

// Atomics have the numbers 1 .. atomic_count.
inline constexpr std::size_t atomic_count = operation_count - 1;

static_assert(
    [] {
        for (std::size_t number = 0; number < operation_count; ++number) {
            const OperationRow& row = operation_table[number];
            if (static_cast<std::size_t>(row.operation) != number) return false;
            if (row.is_atomic != (number != 0)) return false;
        }
        return true;
    }(),
    "an operation's row stands at its number, and the copy's before all atomics'");

// Whether a number from outside (a message, a ring, a frame) denotes an operation.
[[nodiscard]] constexpr bool is_known(Operation operation) noexcept {
    return static_cast<std::size_t>(operation) < operation_count;
}

//   operation  is_known() must be true
[[nodiscard]] constexpr const OperationRow& row_of(Operation operation) noexcept {
    return operation_table[static_cast<std::size_t>(operation)];
}

// Whether an operation and a width from outside are a valid pair. The width of a copy is ignored.
[[nodiscard]] constexpr bool is_sound(Operation operation, std::uint32_t width) noexcept {
    return is_known(operation) && (!row_of(operation).is_atomic || width == 4 || width == 8);
}

// The number of a command that runs a numbered operation of a library layer
// (local/numbered_operation.hpp). It has no row and is neither known nor sound, so no command from
// outside can be accepted as one.
inline constexpr auto invoke_operation = static_cast<Operation>(254);
// The number of a command that a layer above gma carries out itself (gma/layer_command.hpp), which
// has no row either.
inline constexpr auto layer_operation = static_cast<Operation>(253);
static_assert(operation_count <= 253, "the operations of the table and the numbers above differ");

inline constexpr std::uint32_t invoke_bytes_max = 1024;  // most bytes of arguments, and of a result

// The interface call, for messages: "acp_copy", "acp_add8"; "a command" if the number denotes no
// operation.
[[nodiscard]] constexpr std::string_view call_name(Operation operation,
                                                   std::uint32_t width) noexcept {
    if (operation == invoke_operation) return "invoke";
    if (!is_known(operation)) return "a command";
    return width == 8 ? row_of(operation).call8 : row_of(operation).call;
}

}  // namespace acp::memory
