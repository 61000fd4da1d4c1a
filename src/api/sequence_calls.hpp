// SPDX-License-Identifier: BSD-3-Clause
// Shared by acp_..._vector and acp_..._deque: the checks of their arguments, and the one call that
// each makes. No state; any thread.
// Tests: tests/conformance/vector_test.cpp, deque_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <acp/memory.h>

#include "sequence/sequence.hpp"

namespace acp::api {

// A call and its sequence.
struct SequenceCall {
    const char* name;  // the call's name
    sequence::SequenceKind kind;
    acp_ga_t address;
};

// The bytes between two places of a sequence.   address, end_address  the sequences of the two
// places
struct SequenceRange {
    acp_ga_t address;
    std::int64_t begin;
    acp_ga_t end_address;
    std::int64_t end;
};

// The result of a call that returns only success.
[[nodiscard]] constexpr int code_of(bool is_ok) noexcept {
    return is_ok ? 0 : -1;
}

// ACP_GA_NULL after a failure.
[[nodiscard]] acp_ga_t create_sequence(const char* name,
                                       sequence::SequenceKind kind,
                                       std::uint64_t bytes,
                                       std::uint64_t capacity,
                                       int rank) noexcept;

// 0 or -1.
[[nodiscard]] int destroy_sequence(const SequenceCall& call) noexcept;

// The index, or -1.
[[nodiscard]] std::int64_t push_sequence(const SequenceCall& call,
                                         sequence::ContentEnd end,
                                         const void* source,
                                         std::size_t bytes) noexcept;

// How many bytes were removed, or -1.
[[nodiscard]] std::int64_t drop_sequence(const SequenceCall& call,
                                         sequence::ContentEnd end,
                                         std::size_t bytes) noexcept;
[[nodiscard]] std::int64_t clear_sequence(const SequenceCall& call) noexcept;
[[nodiscard]] std::int64_t take_sequence(const SequenceCall& call,
                                         sequence::ContentEnd end,
                                         void* target,
                                         std::size_t bytes) noexcept;

// The number of bytes read, or -1.
[[nodiscard]] std::int64_t read_sequence(const SequenceCall& call,
                                         std::int64_t index,
                                         void* target,
                                         std::size_t bytes) noexcept;

// Returns whether the call succeeded, like all calls below.
[[nodiscard]] bool write_sequence(const SequenceCall& call,
                                  std::int64_t index,
                                  const void* source,
                                  std::size_t bytes) noexcept;
//   index  behind the end of the content: becomes the end
[[nodiscard]] bool insert_sequence(const SequenceCall& call,
                                   std::int64_t& index,
                                   const void* source,
                                   std::size_t bytes) noexcept;
[[nodiscard]] bool insert_range_of_sequence(const SequenceCall& call,
                                            std::int64_t& index,
                                            const SequenceRange& range) noexcept;
[[nodiscard]] bool erase_sequence(const SequenceCall& call,
                                  std::int64_t index,
                                  std::uint64_t bytes) noexcept;
[[nodiscard]] bool erase_range_of_sequence(const SequenceCall& call,
                                           const SequenceRange& range) noexcept;
[[nodiscard]] bool assign_sequence(const SequenceCall& call, acp_ga_t source) noexcept;
[[nodiscard]] bool assign_range_of_sequence(const SequenceCall& call,
                                            const SequenceRange& range) noexcept;
[[nodiscard]] bool swap_sequences(const SequenceCall& call, acp_ga_t other) noexcept;
[[nodiscard]] bool reserve_sequence(const SequenceCall& call, std::uint64_t bytes) noexcept;

// The length of the content, and the addresses of some bytes; all 0 after a failure.
struct SequenceSeen {
    std::uint64_t bytes = 0;
    std::uint64_t capacity = 0;
    std::array<acp_ga_t, 2> addresses{};
    std::array<std::uint64_t, 2> pieces{};
    bool is_seen = false;
};

//   must_be_there  the call fails if there is no byte at the index
[[nodiscard]] SequenceSeen look_at_sequence(const SequenceCall& call,
                                            std::int64_t index,
                                            std::uint64_t bytes,
                                            bool must_be_there) noexcept;

}  // namespace acp::api
