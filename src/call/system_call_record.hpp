// SPDX-License-Identifier: BSD-3-Clause
// A system call as a slot of a call ring carries it, and the memory beside the ring for the bytes
// that it copies. Offsets only. Knows no ring and no process. Any thread.
// Tests: tests/unit/call/system_call_pack_test.cpp.
//
// STAGING is `system_call_staging_bytes` of memory that both sides map, followed by a wall: as many
// bytes of addresses of which no access succeeds. Pieces lie in it from its start. A piece of which
// the device process can access the first n bytes only has these at the end of the staging memory,
// and the rest in the wall. So the executor's kernel finds the same bytes and the same fault as it
// would have found in the device process, and the call has the same result: a short count or EFAULT,
// or the error of another argument that the kernel looks at before.
#pragma once

#include <array>
#include <cstdint>

#include "call/ring.hpp"
#include "call/system_call_list.hpp"

namespace acp::call {

// The most bytes of one argument that a call carries. Longer reads and writes are short, or go in
// several calls.
inline constexpr std::uint64_t system_call_piece_bytes = std::uint64_t{1} << 20U;

// The most bytes that Linux moves in one call.
inline constexpr std::uint64_t transfer_bytes_max = 0x7ffff000;

// Room for a piece, and for the other arguments of its call.
inline constexpr std::uint64_t system_call_staging_bytes =
    system_call_piece_bytes + (std::uint64_t{512} << 10U);

inline constexpr std::uint64_t system_call_wall_bytes = system_call_staging_bytes;

// A path and its end; longer ones fail in the kernel.
inline constexpr std::uint64_t system_call_text_bytes = 4096;

// struct iovec, which programs of 64 bits have alike: address, bytes. At most this many in a call.
inline constexpr std::uint64_t io_vector_bytes = 16;
inline constexpr std::uint64_t io_vectors_max = 1024;

using SystemCallWords = std::array<std::uint64_t, system_call_words>;

// Where the bytes of an argument are: 0 = nowhere, its address is 0; else 1 + offset in the staging
// memory, whose end is the place of the wall; or place_outside, an address that no program has.
using StagedPlace = std::uint64_t;

inline constexpr StagedPlace place_outside = ~StagedPlace{0};

[[nodiscard]] constexpr StagedPlace place_at(std::uint64_t offset) noexcept {
    return offset + 1;
}

// Whether the kernel refuses a range for its addresses alone, whatever is mapped.
[[nodiscard]] bool is_beyond_programs(std::uint64_t address, std::uint64_t bytes) noexcept;

[[nodiscard]] constexpr bool is_in_staging(StagedPlace place) noexcept {
    return place != 0 && place <= system_call_staging_bytes;
}

struct SystemCallRecord {
    SystemCall call{};
    // As the program has them, but: the words that say how many bytes are at another one are what
    // was staged, also for vectors, whose bytes are one piece.
    SystemCallWords words{};
    std::array<StagedPlace, system_call_words> places{};
};

// The word of a slot of a record's first place.
inline constexpr std::uint32_t first_place_word = system_call_words;

static_assert(2 * system_call_words <= slot_words);

[[nodiscard]] constexpr CallRequest request_of(const SystemCallRecord& record) noexcept {
    CallRequest request;
    request.target = static_cast<std::uint64_t>(record.call);
    for (std::size_t i = 0; i < system_call_words; ++i) {
        request.words[i] = record.words[i];
        request.words[first_place_word + i] = record.places[i];
    }
    request.word_count = 2 * system_call_words;
    return request;
}

// The record that a server has claimed; it is read once.
template <class Claimed>
[[nodiscard]] SystemCallRecord record_of(const Claimed& claimed) noexcept {
    SystemCallRecord record;
    // A greater number, which is no call, must not become one.
    const std::uint64_t call = claimed.target();
    record.call = static_cast<SystemCall>(call < system_call_count ? call : system_call_count);
    for (std::uint32_t i = 0; i < system_call_words; ++i) {
        record.words[i] = claimed.word(i);
        record.places[i] = claimed.word(first_place_word + i);
    }
    return record;
}

// The index in a row's units: 0 on x86-64, 1 elsewhere.
extern const bool is_elsewhere;

// The number of a call for this machine's Linux; -1: it has none.
[[nodiscard]] std::int64_t number_of(SystemCall call) noexcept;

// The call that this machine's Linux knows by a number; false: none of the table.
[[nodiscard]] bool find_system_call(std::uint64_t number, SystemCall& call) noexcept;

// The row of a word, where the request of ioctl and fcntl has decided what by_request() means.
// false: the meaning of the request, or of an option of a socket, is not known or has addresses in
// it, and the call stays in the device process.
[[nodiscard]] bool find_argument(SystemCall call,
                                 const SystemCallWords& words,
                                 std::size_t index,
                                 ArgumentRow& argument) noexcept;

// How many bytes there are at the address of an argument with an extent; saturates.
[[nodiscard]] std::uint64_t extent_of(const ArgumentRow& argument,
                                      const SystemCallWords& words) noexcept;

// How many bytes of an `out` or `in_out` argument a call has written.
//   result  of the call; < 0: an error, and none
[[nodiscard]] std::uint64_t written_of(const ArgumentRow& argument,
                                       const SystemCallWords& words,
                                       std::int64_t result) noexcept;

}  // namespace acp::call
