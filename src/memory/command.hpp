// SPDX-License-Identifier: BSD-3-Clause
// One global memory access as a value: the operation, its addresses and its operands. Every path
// that runs commands uses it. Knows no handle and no path.
#pragma once

#include <cstdint>
#include <string_view>

#include "memory/ga_layout.hpp"
#include "memory/operation.hpp"

namespace acp::memory {

// The interface call that issued a copy or an add, if it is not the call named after the operation.
// list, block: the copy of nothing that stands for all copies of acp_copy_v or acp_copy_strided.
// From fetch on: a copy that a library layer issues within another call; the message names that
// call first.
enum class IssuedBy : std::uint8_t {
    itself,
    put,
    get,
    put_signal,
    put_copied,
    list,
    block,
    fetch,  // copies a channel's message to its receiver
    read,   // like acp_get
    write,  // like acp_put
    move,   // like acp_copy
    segment
};

inline constexpr IssuedBy last_issuer = IssuedBy::segment;

// The end of a copy that the caller gave as a plain pointer.
enum class PointerEnd : std::uint8_t { neither, source, target };

[[nodiscard]] constexpr PointerEnd pointer_end_of(IssuedBy call) noexcept {
    switch (call) {
        case IssuedBy::put:
        case IssuedBy::put_signal:
        case IssuedBy::put_copied:
        case IssuedBy::write:
        case IssuedBy::segment:
            return PointerEnd::source;
        case IssuedBy::get:
        case IssuedBy::fetch:
        case IssuedBy::read:
            return PointerEnd::target;
        default:
            return PointerEnd::neither;
    }
}

struct Command {
    Operation operation = Operation::copy;
    std::uint8_t width = 0;  // width of an atomic: 4 or 8
    GlobalAddress target = 0;
    GlobalAddress source = 0;
    std::uint64_t bytes = 0;     // size of a copy; for an atomic its width
    std::uint64_t operand = 0;   // the operand, or the desired value of compare_swap
    std::uint64_t expected = 0;  // compare_swap: the value to compare with; copy and add: a note()

    // Whether this runs a numbered operation on memory of a process. Then target and source are the
    // address of that process's starter memory, operand is the number, and expected belongs to the
    // layer that keeps the arguments; all other fields are 0.
    [[nodiscard]] bool is_invoke() const noexcept { return operation == invoke_operation; }

    // Whether a layer above gma carries it out. Then operand is the address of its object in the
    // memory of this process (gma/layer_command.hpp), and all other fields are 0.
    [[nodiscard]] bool is_of_layer() const noexcept { return operation == layer_operation; }

    [[nodiscard]] bool is_copy() const noexcept { return operation == Operation::copy; }

    // Whether a value is written to `target`. An atomic that does not return its old value has the
    // null address there.
    [[nodiscard]] bool has_target() const noexcept { return is_copy() || target != 0; }

    // The target, or the word of an atomic without one: memory that each command has and writes to.
    [[nodiscard]] GlobalAddress target_or_word() const noexcept {
        return has_target() ? target : source;
    }

    static constexpr std::uint32_t loans_max = 511;

    // The value of `expected` of a copy or an add: the call that issued it, and the loan. The
    // process that runs the command ignores it.
    //   loan  number of the loaned memory that stands for the caller's pointer
    //         (gma/local_ends.hpp), at most loans_max; 0: none
    [[nodiscard]] static constexpr std::uint64_t note(IssuedBy call,
                                                      std::uint32_t loan = 0) noexcept {
        return static_cast<std::uint64_t>(call) << 16U | loan;
    }

    [[nodiscard]] IssuedBy issued_by() const noexcept {
        const bool is_noted = is_copy() || operation == Operation::add;
        return is_noted ? static_cast<IssuedBy>(expected >> 16U & 15U) : IssuedBy::itself;
    }

    // Whether this stands for all copies of a list. Its operand is their number; 0: none was
    // issued.
    [[nodiscard]] bool is_of_list() const noexcept {
        return issued_by() == IssuedBy::list || issued_by() == IssuedBy::block;
    }

    [[nodiscard]] std::uint32_t loan() const noexcept {
        return is_copy() ? static_cast<std::uint32_t>(expected & loans_max) : 0;
    }

    friend bool operator==(const Command&, const Command&) = default;
};

// The address of a command that caused its failure; none: neither, or it is not known. Frames and
// rings carry these numbers.
enum class BlamedAddress : std::uint8_t { none = 0, target = 1, source = 2 };

// The interface call that issued a command, for messages; for a copy that a library layer issued, a
// phrase that follows the name of the call ("acp_...: a read").
[[nodiscard]] inline std::string_view call_name(const Command& command) noexcept {
    switch (command.issued_by()) {
        case IssuedBy::put:
            return "acp_put";
        case IssuedBy::get:
            return "acp_get";
        case IssuedBy::put_signal:
            return "acp_put_signal";
        case IssuedBy::put_copied:
            return "acp_put_copied";
        case IssuedBy::list:
            return "acp_copy_v";
        case IssuedBy::block:
            return "acp_copy_strided";
        case IssuedBy::fetch:
            return "the fetch of a message";
        case IssuedBy::read:
            return "a read";
        case IssuedBy::write:
            return "a write";
        case IssuedBy::move:
            return "a copy";
        case IssuedBy::segment:
            return "the sending of a segment";
        case IssuedBy::itself:
            break;
    }
    return call_name(command.operation, command.width);
}

// The word for an address of a command in messages.
[[nodiscard]] inline const char* role_name(const Command& command, bool is_target) noexcept {
    if (is_target) return "target";
    return command.issued_by() == IssuedBy::put_signal && !command.is_copy() ? "signal" : "source";
}

// One of several commands that are submitted together, with the number that its completion carries.
struct NumberedCommand {
    std::uint64_t number = 0;
    const Command* command = nullptr;
    // For a short copy that is submitted before the commands have completed that it is ordered
    // after: these are `before_count` copies to the same process with the numbers before, before +
    // 2, ..., which were submitted earlier. The copy runs when they are complete, and fails with
    // Code::order if one of them fails. 0: the command has no order.
    std::uint64_t before = 0;
    std::uint32_t before_count = 0;
};

inline constexpr std::uint32_t commands_before_max = 8;

}  // namespace acp::memory
