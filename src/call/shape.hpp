// SPDX-License-Identifier: BSD-3-Clause
// The shape word of a call that runs a function: which operation it is, how many arguments it has,
// of which kinds they are, and what the function returns. Pure; any thread.
// Tests: tests/unit/call/arguments_test.cpp.
#pragma once

#include <cstdint>

#include "call/ring_layout.hpp"

namespace acp::call {

inline constexpr std::uint32_t arguments_max = 256;

// How the server interprets the word of an argument.
enum class ArgumentKind : std::uint8_t {
    integer,  // the value, extended to 64 bits: passed in an integer register
    real,     // the bits of a double; or of a float, in the low half: in a floating-point register
    address,  // an offset in the memory of the device: passed as a pointer
    buffer,   // an offset in the staging memory: passed as a pointer
};

inline constexpr unsigned kind_bits = 2;

// What a function returns, and so the register that has it.
enum class ResultKind : std::uint8_t {
    integer,
    real,    // double; the result word has its bits
    single,  // float; the low half of the result word has its bits
};

// The kinds of up to slot_words arguments are in the shape; those of more are in the staging
// memory, behind the words of the arguments (arguments.hpp).
struct CallShape {
    std::uint8_t operation = 0;  // the meaning is the owner's
    ResultKind result = ResultKind::integer;
    std::uint16_t count = 0;  // arguments: 0 .. arguments_max
    std::uint32_t kinds = 0;  // kind_bits for each argument, the first one lowest

    [[nodiscard]] constexpr std::uint64_t word() const noexcept {
        return std::uint64_t{operation} | static_cast<std::uint64_t>(result) << 8U |
               std::uint64_t{count} << 16U | std::uint64_t{kinds} << 32U;
    }

    // Any word is a shape; its fields must be checked.
    [[nodiscard]] static constexpr CallShape of(std::uint64_t word) noexcept {
        return {static_cast<std::uint8_t>(word), static_cast<ResultKind>(word >> 8U & 0xffU),
                static_cast<std::uint16_t>(word >> 16U), static_cast<std::uint32_t>(word >> 32U)};
    }

    // Whether the words of all arguments are in the slot.
    [[nodiscard]] constexpr bool is_in_slot() const noexcept { return count <= slot_words; }
};

static_assert(slot_words * kind_bits <= 32);

// Words that hold the kinds of `count` arguments.
[[nodiscard]] constexpr std::uint32_t kind_words(std::uint32_t count) noexcept {
    return (count * kind_bits + 63) / 64;
}

}  // namespace acp::call
