// SPDX-License-Identifier: BSD-3-Clause
// One global memory access as a value: the operation, its addresses and its operands. Every path that runs commands uses it.
// Knows no handle and no path.
#pragma once

#include <cstdint>
#include <string_view>

#include "memory/ga_layout.hpp"
#include "memory/operation.hpp"

namespace acp::memory {

// The interface call that issued a copy or an add, if it is not the call named after the operation.
// list, block: the copy of nothing that stands for all copies of acp_copy_v or acp_copy_strided.
// From fetch on: what the library does within another call, which names itself before this.
enum class IssuedBy : std::uint8_t {
    itself,
    put,
    get,
    put_signal,
    put_copied,
    list,
    block,
    fetch,  // of a message
    read,   // as by acp_get
    write,  // as by acp_put
    move,   // as by acp_copy
    segment
};

inline constexpr IssuedBy last_issuer = IssuedBy::segment;

// Which end of a copy that a call has issued was given as a plain pointer.
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
    std::uint64_t expected = 0;  // of compare_swap; for a copy and an add a note()

    // Whether this is a numbered operation on memory of a process. Then target and source are the address of that process's
    // starter memory, operand is the number, and expected is for the use of the layer that keeps the arguments; all other
    // fields are 0.
    [[nodiscard]] bool is_invoke() const noexcept { return operation == invoke_operation; }

    [[nodiscard]] bool is_copy() const noexcept { return operation == Operation::copy; }

    // Whether a value is to be written to target. An atomic whose old value is not wanted has the null address there.
    [[nodiscard]] bool has_target() const noexcept { return is_copy() || target != 0; }

    // The target, or the word of an atomic without one: memory that the command writes to in any case.
    [[nodiscard]] GlobalAddress target_or_word() const noexcept {
        return has_target() ? target : source;
    }

    static constexpr std::uint32_t loans_max = 255;

    // What a copy or an add that was issued by another call keeps in `expected`; the process that runs the command ignores it.
    //   loan  number of the loaned memory that stands for the caller's pointer (gma/local_ends.hpp), at most loans_max; 0: none
    [[nodiscard]] static constexpr std::uint64_t note(IssuedBy call,
                                                      std::uint32_t loan = 0) noexcept {
        return static_cast<std::uint64_t>(call) << 16U | loan;
    }

    [[nodiscard]] IssuedBy issued_by() const noexcept {
        const bool is_noted = is_copy() || operation == Operation::add;
        return is_noted ? static_cast<IssuedBy>(expected >> 16U & 15U) : IssuedBy::itself;
    }

    // Whether this stands for all copies of a list. Its operand is their number; 0: none was issued.
    [[nodiscard]] bool is_of_list() const noexcept {
        return issued_by() == IssuedBy::list || issued_by() == IssuedBy::block;
    }

    [[nodiscard]] std::uint32_t loan() const noexcept {
        return is_copy() ? static_cast<std::uint32_t>(expected & loans_max) : 0;
    }

    friend bool operator==(const Command&, const Command&) = default;
};

// Which address of a command a failure is about; none: it is not known, or neither. Frames and rings carry these numbers.
enum class BlamedAddress : std::uint8_t { none = 0, target = 1, source = 2 };

// The call of the interface that issued a command, for messages; or what the library does in a call whose name comes before this one.
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

// What a message calls an address of a command.
[[nodiscard]] inline const char* role_name(const Command& command, bool is_target) noexcept {
    if (is_target) return "target";
    return command.issued_by() == IssuedBy::put_signal && !command.is_copy() ? "signal" : "source";
}

// One of several commands that are handed over together, with the number under which its end is reported.
struct NumberedCommand {
    std::uint64_t number = 0;
    const Command* command = nullptr;
    // A short copy that is handed over before the commands that it is ordered after have ended: these are `before_count`
    // copies to the same process, whose numbers are before, before + 2, ..., and which were handed over already. It runs when
    // they are complete, and fails with Code::order when one of them has failed. 0: it is ordered after nothing.
    std::uint64_t before = 0;
    std::uint32_t before_count = 0;
};

inline constexpr std::uint32_t commands_before_max = 8;

}  // namespace acp::memory
