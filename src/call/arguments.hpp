// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a call, as its client collects them: by index, in any order. Converts them to
// the words of a request (ring.hpp), with the contents of buffers in staging memory, and copies the
// buffers back after the call. Knows no ring and no process. One thread at a time.
// Tests: tests/unit/call/arguments_test.cpp.
//
// STAGING of a call: the input of buffers and room for their output, each at a multiple of
// buffer_alignment; before them, if there are more than slot_words arguments, the words of the
// arguments and their kinds. Words [0] and [1] of the slot are then the offset of that list, and
// its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"

#include "call/ring.hpp"
#include "call/shape.hpp"

namespace acp::call {

using base::Status;

// Whether the function reads a buffer, writes it, or both.
enum class Intent : std::uint8_t {
    in,   // reads it
    out,  // writes it: the client gets all of its bytes back
    in_out,
};

// The most bytes of all buffers of a call together, each rounded up to buffer_alignment.
inline constexpr std::uint64_t buffer_bytes_max = std::uint64_t{63} << 20U;
inline constexpr std::uint64_t buffer_alignment = 16;

// The failure of a call that names an argument beyond arguments_max, or below 0.
[[nodiscard]] Status no_such_argument(std::int64_t index);

class CallArguments {
public:
    // Set an argument. An index that has one gets the new one. Indexes below the highest that was
    // set and that have none are integers 0.
    //   index  0 .. arguments_max - 1
    // Errors: argument (index out of range), memory; the arguments are unchanged.
    Status set_integer(std::uint32_t index, std::uint64_t value);
    Status set_double(std::uint32_t index, double value);
    Status set_float(std::uint32_t index, float value);
    //   offset  in the memory of the device
    Status set_address(std::uint32_t index, std::uint64_t offset);
    // Keeps the pointer, not the contents: encode() reads them, fetch_output() writes them.
    //   bytes  1 .. buffer_bytes_max
    // Errors: argument (also a null pointer, or 0 bytes), limit (all buffers together are longer
    // than buffer_bytes_max), memory.
    Status set_buffer(std::uint32_t index, Intent intent, void* buffer, std::uint64_t bytes);

    // What the function returns; integer unless set.
    void set_result(ResultKind result) noexcept { result_ = result; }

    void clear() noexcept;

    [[nodiscard]] std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(words_.size());
    }

    // Bytes of staging memory that a call with these arguments needs; 0: none.
    [[nodiscard]] std::uint64_t staging_bytes() const noexcept;

    // Composes the request, and writes the input of buffers to the staging memory.
    //   staging  staging_bytes() bytes, aligned to buffer_alignment
    //   offset   of its first byte, as the server counts
    [[nodiscard]] CallRequest encode(std::uint64_t target,
                                     std::uint8_t operation,
                                     std::byte* staging,
                                     std::uint64_t offset) const noexcept;

    // After the call has returned: copies the output of buffers from the staging memory.
    //   staging  as for encode(), with these arguments unchanged since
    void fetch_output(const std::byte* staging) const noexcept;

private:
    struct Buffer {
        std::uint32_t index;
        Intent intent;
        std::byte* memory;
        std::uint64_t bytes;
    };

    Status set(std::uint32_t index, ArgumentKind kind, std::uint64_t word);
    void drop_buffer(std::uint32_t index) noexcept;
    [[nodiscard]] std::uint64_t list_bytes() const noexcept;
    [[nodiscard]] std::uint64_t bytes_of_buffers() const noexcept;

    std::vector<std::uint64_t> words_;  // 0 for a buffer
    std::vector<ArgumentKind> kinds_;   // parallel to words_
    std::vector<Buffer> buffers_;
    ResultKind result_ = ResultKind::integer;
};

}  // namespace acp::call
