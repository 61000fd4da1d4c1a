// SPDX-License-Identifier: BSD-3-Clause
// What the table of system calls (system_call_list.hpp) says of a call: its numbers, and for each
// of its six words what is copied to the executor before the call, and back after it. Pure.
// Tests: tests/unit/call/system_call_list_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace acp::call {

inline constexpr std::size_t system_call_words = 6;

// How a word of a call is passed on.
enum class Passing : std::uint8_t {
    value,        // itself
    absent,       // an address that must be 0: otherwise the call stays in the device process
    text,         // the address of a text that ends with 0
    in,           // the address of bytes that the call reads
    out,          // the address of bytes that the call writes
    in_out,       // the address of bytes that the call reads and writes
    up_to,        // the address of bytes that the call writes; the word `word` is their length()
    length,       // the address of a 32-bit length that the call reads and writes
    vectors_in,   // the address of `word` struct iovec, whose bytes the call reads
    vectors_out,  // the address of `word` struct iovec, whose bytes the call writes
    by_request,   // depends on the word `word`, a request of ioctl or fcntl (find_argument())
};

// How many bytes there are at an address.
enum class ArgumentExtent : std::uint8_t {
    fixed,  // `unit`
    words,  // the word `word` times `unit`
    ints,   // as `words`, of an int: none if that is negative
    bits,   // a bit for each number below the word `word`, in words of 64 bits
};

struct ArgumentRow {
    Passing passing = Passing::value;
    ArgumentExtent extent = ArgumentExtent::fixed;
    std::uint8_t word = 0;
    std::uint16_t unit = 1;            // bytes
    std::uint16_t unit_elsewhere = 1;  // bytes in the structures of 64-bit ARM
};

// The words that the rows of the table consist of.
namespace rows {

[[nodiscard]] constexpr ArgumentRow value() {
    return {};
}

[[nodiscard]] constexpr ArgumentRow absent() {
    return {.passing = Passing::absent};
}

[[nodiscard]] constexpr ArgumentRow text() {
    return {.passing = Passing::text};
}

[[nodiscard]] constexpr ArgumentRow counted(Passing passing,
                                            std::uint8_t word,
                                            std::uint16_t unit,
                                            std::uint16_t elsewhere) {
    return {passing, ArgumentExtent::words, word, unit, elsewhere == 0 ? unit : elsewhere};
}

[[nodiscard]] constexpr ArgumentRow fixed(Passing passing,
                                          std::uint16_t unit,
                                          std::uint16_t elsewhere = 0) {
    return {passing, ArgumentExtent::fixed, 0, unit, elsewhere == 0 ? unit : elsewhere};
}

[[nodiscard]] constexpr ArgumentRow in(std::uint8_t word, std::uint16_t unit = 1) {
    return counted(Passing::in, word, unit, unit);
}

// The call's result says how many units it has written.
[[nodiscard]] constexpr ArgumentRow out(std::uint8_t word,
                                        std::uint16_t unit = 1,
                                        std::uint16_t elsewhere = 0) {
    return counted(Passing::out, word, unit, elsewhere);
}

[[nodiscard]] constexpr ArgumentRow in_out(std::uint8_t word, std::uint16_t unit) {
    return counted(Passing::in_out, word, unit, unit);
}

[[nodiscard]] constexpr ArgumentRow of_int(ArgumentRow argument) {
    argument.extent = ArgumentExtent::ints;
    return argument;
}

[[nodiscard]] constexpr ArgumentRow in_int(std::uint8_t word) {
    return of_int(in(word));
}

[[nodiscard]] constexpr ArgumentRow out_int(std::uint8_t word,
                                            std::uint16_t unit = 1,
                                            std::uint16_t elsewhere = 0) {
    return of_int(out(word, unit, elsewhere));
}

[[nodiscard]] constexpr ArgumentRow in_out_int(std::uint8_t word, std::uint16_t unit) {
    return of_int(in_out(word, unit));
}

[[nodiscard]] constexpr ArgumentRow in_fixed(std::uint16_t unit, std::uint16_t elsewhere = 0) {
    return fixed(Passing::in, unit, elsewhere);
}

[[nodiscard]] constexpr ArgumentRow out_fixed(std::uint16_t unit, std::uint16_t elsewhere = 0) {
    return fixed(Passing::out, unit, elsewhere);
}

[[nodiscard]] constexpr ArgumentRow in_out_fixed(std::uint16_t unit) {
    return fixed(Passing::in_out, unit);
}

[[nodiscard]] constexpr ArgumentRow bits(std::uint8_t word) {
    return {Passing::in_out, ArgumentExtent::bits, word, 1, 1};
}

[[nodiscard]] constexpr ArgumentRow up_to(std::uint8_t word) {
    return counted(Passing::up_to, word, 1, 1);
}

[[nodiscard]] constexpr ArgumentRow length() {
    return fixed(Passing::length, 4);
}

[[nodiscard]] constexpr ArgumentRow vectors_in(std::uint8_t word) {
    return counted(Passing::vectors_in, word, 1, 1);
}

[[nodiscard]] constexpr ArgumentRow vectors_out(std::uint8_t word) {
    return counted(Passing::vectors_out, word, 1, 1);
}

[[nodiscard]] constexpr ArgumentRow by_request(std::uint8_t word) {
    return counted(Passing::by_request, word, 1, 1);
}

}  // namespace rows

// Which process carries out a call of a device process.
enum class Delegation : std::uint8_t {
    carried,  // its executor
    staying,  // the device process itself
    refused,  // none: the call fails with ENOSYS
};

// Why a call is not carried.
enum class Reason : std::uint8_t {
    none,
    memory,    // it concerns the memory of the device process
    threads,   // it concerns threads of the device process, or its end, its program or its children
    signals,   // it concerns signals of the device process
    identity,  // it concerns numbers, rights and limits of the device process
    nested,    // its arguments have addresses in structures that this table does not describe
    ring,      // the kernel would write to memory that it shares with the executor alone
    pages,     // it gives away pages of memory, and not bytes
    sharing,  // it would end that the device process and the executor share descriptors and folders
};

// A name within its row: with a pointer to it, every process would have pages of its own for the
// table.
class SystemCallName {
public:
    template <std::size_t Bytes>
    consteval SystemCallName(const char (&text)[Bytes]) {  // NOLINT: a literal becomes the name
        for (std::size_t i = 0; i < Bytes; ++i) letters_[i] = text[i];
    }

    [[nodiscard]] constexpr std::string_view text() const { return letters_.data(); }

private:
    std::array<char, 24> letters_{};
};

struct SystemCallRow {
    SystemCallName name;
    std::int16_t number = -1;            // of Linux on x86-64; -1: there is none
    std::int16_t number_elsewhere = -1;  // number for Linux of 64-bit ARM; -1: there is none
    Delegation delegation = Delegation::staying;
    Reason reason = Reason::none;
    std::array<ArgumentRow, system_call_words> arguments = {};
};

}  // namespace acp::call
