// SPDX-License-Identifier: BSD-3-Clause
// Calls a C function whose arguments are known at run time only. Each argument is a word and either
// an integer (or pointer) or a real number; the processor's calling convention decides which of
// them are in integer registers, in floating-point registers and on the stack. Needs no assembler:
// the conventions of x86-64 (System V) and of 64-bit ARM (AAPCS64) place both kinds independently
// of each other, and give each argument on the stack 8 bytes. So a call of a function type that has
// all registers of both kinds first, and then the words of the stack, places them in the same way.
// Knows no ring. Any thread.
// Tests: tests/unit/call/function_call_test.cpp.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

#include "call/shape.hpp"

namespace acp::call {

using base::Status;

// The arguments of one call; words of the first `count` are written.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the caller writes the first words
struct FunctionArguments {
    std::uint32_t count = 0;  // 0 .. arguments_max
    std::bitset<arguments_max> is_real;
    std::array<std::uint64_t, arguments_max> words;
};

// Calls a function and returns its result as a word.
//   function  a C function that takes arguments of the given kinds; more than it takes are ignored.
//             Structures by value, long double and variable arguments are not supported
// A C++ exception of the function leaves this function too.
[[nodiscard]] std::uint64_t call_function(std::uintptr_t function,
                                          const FunctionArguments& arguments,
                                          ResultKind result);

// The memory that a server of calls has mapped, for offsets in arguments.
struct ServerMemory {
    std::span<std::byte> staging;
    std::span<std::byte> device;
};

// Decodes what CallArguments::encode() has written. Checks every field, so that any words are safe.
//   shape  of the call
//   slot   the words of the slot
// Errors: argument (the message names the field; `arguments` has no meaning).
[[nodiscard]] Status decode_arguments(const CallShape& shape,
                                      std::span<const std::uint64_t, slot_words> slot,
                                      const ServerMemory& memory,
                                      FunctionArguments& arguments);

}  // namespace acp::call
