// SPDX-License-Identifier: BSD-3-Clause
// The vectors and deques of a process's heap as numbered operations, for callers of other nodes: what they ask for and are told, as
// bytes. Bytes that do not fit into one operation go through a block of the same heap, the stage, which is lent to the caller, who
// gives it back. Any thread; as local/numbered_operation.hpp says.
// Tests: tests/unit/allocator/sequence_operations_test.cpp, tests/conformance/vector_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "local/numbered_operation.hpp"

#include "allocator/operations.hpp"
#include "sequence/sequence.hpp"

namespace acp::allocator {

inline constexpr std::uint32_t sequence_make_number = 50;
inline constexpr std::uint32_t sequence_destroy_number = 51;
inline constexpr std::uint32_t sequence_push_number = 52;
inline constexpr std::uint32_t sequence_pop_number = 53;
inline constexpr std::uint32_t sequence_read_number = 54;
inline constexpr std::uint32_t sequence_splice_number = 55;
inline constexpr std::uint32_t sequence_tell_number = 56;

// make. Its result is the address of the sequence, by which all others name it; 0: there is no room.
struct SequenceMake {
    sequence::SequenceKind kind = sequence::SequenceKind::vector;
    std::uint64_t bytes = 0;  // of the content, zero
    std::uint64_t capacity = 0;
    std::uint64_t maker = NodeHeap::nobody;  // the caller: as sequence::Sequence::make
};

// destroy: its argument is a SequenceName. Errors, as of all that follows: stale (no sequence of the kind is there), address (the
// stage is no block of this heap that has room for the bytes and is lent to the caller).
struct SequenceName {
    std::uint64_t address = 0;
    sequence::SequenceKind kind = sequence::SequenceKind::vector;
};

// What the results of changes and reads begin with.
struct SequenceResult {
    sequence::SequenceEffect effect = sequence::SequenceEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t bytes = 0;
    std::uint64_t there = 0;  // of a pop and a read: bytes of the content, at that moment
};

// push: the bytes follow where there is no stage. Its result tells the index where they begin.
struct SequencePush {
    SequenceName name;
    std::uint64_t is_front = 0;  // 0 or 1; 1: of a deque
    LentBlock stage;
    std::uint64_t bytes = 0;
};

// pop: its result tells how many bytes were removed; they follow where they are wanted and there is no stage. Where the stage, or without
// one sequence_inline_max, is too small for the bytes that would be removed and are wanted, nothing is.
struct SequencePop {
    SequenceName name;
    std::uint64_t is_front = 0;  // as above
    std::uint64_t is_wanted = 0;
    LentBlock stage;
    std::uint64_t bytes = 0;
};

// read: its result tells how many bytes were copied, no more than there is room for as above; they follow where there is no stage.
struct SequenceRead {
    SequenceName name;
    std::uint64_t index = 0;
    LentBlock stage;
    std::uint64_t bytes = 0;
};

// splice: the bytes follow where there is no stage. Its result tells how many bytes there were before.
struct SequenceSplice {
    SequenceName name;
    std::uint64_t at = 0;
    std::uint64_t removed = 0;
    std::uint64_t added = 0;
    std::uint64_t capacity_least = 0;
    std::uint64_t must_fit = 0;    // 0 or 1
    std::uint64_t may_shrink = 0;  // 0 or 1
    LentBlock stage;
};

// tell: where bytes lie, and how much there is.
struct SequenceTell {
    SequenceName name;
    std::uint64_t index = 0;
    std::uint64_t bytes = 0;
};

struct SequenceTold {
    std::uint64_t bytes = 0;
    std::uint64_t capacity = 0;
    std::array<std::uint64_t, 2> addresses{};  // of the pieces; 0: none
    std::array<std::uint64_t, 2> pieces{};     // their bytes
};

// What goes in one operation, in either direction.
inline constexpr std::uint64_t sequence_inline_max =
    memory::invoke_bytes_max - sizeof(SequenceSplice);

inline constexpr std::uint32_t sequence_operation_count = 7;

// The rows of this layer.
[[nodiscard]] const std::array<local::NumberedOperation, sequence_operation_count>&
sequence_operations() noexcept;

// The sequence at an address in the heap of a process of this node; 0: none can begin there.
[[nodiscard]] table::BlockNumber sequence_at(const local::Space& space,
                                             std::uint32_t process,
                                             memory::GlobalAddress address) noexcept;

}  // namespace acp::allocator
