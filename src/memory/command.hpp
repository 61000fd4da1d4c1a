// SPDX-License-Identifier: BSD-3-Clause
// One global memory access as a value: what is to be done, between which addresses, with which operands.
// Shared by every path that runs commands. Knows no handle and no path.
#pragma once

#include <cstdint>

#include "memory/ga_layout.hpp"
#include "memory/operation.hpp"

namespace acp::memory {

struct Command {
    Operation operation = Operation::copy;
    std::uint8_t width = 0;  // of an atomic: 4 or 8
    GlobalAddress target = 0;
    GlobalAddress source = 0;
    std::uint64_t bytes = 0;     // of a copy; an atomic's width otherwise
    std::uint64_t operand = 0;   // value, or desired of compare_swap
    std::uint64_t expected = 0;  // of compare_swap

    // A numbered operation on memory of a process. Target and source are the address of that process's starter memory,
    // operand is the number, and expected belongs to who keeps the arguments; all else is 0.
    [[nodiscard]] bool is_invoke() const noexcept { return operation == invoke_operation; }

    [[nodiscard]] bool is_copy() const noexcept { return operation == Operation::copy; }

    // Whether a value is to be written at target. An atomic whose old value nobody wants has the null address there.
    [[nodiscard]] bool has_target() const noexcept { return is_copy() || target != 0; }

    // The target, or the word of an atomic without one: memory that the command writes to in any case.
    [[nodiscard]] GlobalAddress target_or_word() const noexcept {
        return has_target() ? target : source;
    }

    friend bool operator==(const Command&, const Command&) = default;
};

// One of several that are handed over together, under the number that tells of its end.
struct NumberedCommand {
    std::uint64_t number = 0;
    const Command* command = nullptr;
};

}  // namespace acp::memory
