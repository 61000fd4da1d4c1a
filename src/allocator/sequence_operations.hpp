// SPDX-License-Identifier: BSD-3-Clause
// The vectors and deques of a process's heap as numbered operations, for callers of other nodes:
// the bytes of their arguments and results. Bytes that do not fit into one operation go through a
// block of the same heap, the stage, which is on loan to the caller until it returns it. Any
// thread; see local/numbered_operation.hpp.
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

// make. Its result is the address of the sequence, by which all other operations name it; 0: there
// is no room.
struct SequenceMake {
    sequence::SequenceKind kind = sequence::SequenceKind::vector;
    std::uint64_t bytes = 0;  // length of the content, all zero
    std::uint64_t capacity = 0;
    std::uint64_t maker = NodeHeap::nobody;  // the caller; see sequence::Sequence::make
};

// destroy: its argument is a SequenceName. Errors, here and in all operations below: stale (no
// sequence of the kind is there), address (the stage is no block of this heap that has room for the
// bytes and is on loan to the caller).
struct SequenceName {
    std::uint64_t address = 0;
    sequence::SequenceKind kind = sequence::SequenceKind::vector;
};

// The head of the results of changes and reads.
struct SequenceResult {
    sequence::SequenceEffect effect = sequence::SequenceEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t bytes = 0;
    std::uint64_t there = 0;  // pop and read: length of the content at that moment
};

// push: the bytes follow if there is no stage. Its result has the index of the first one.
struct SequencePush {
    SequenceName name;
    std::uint64_t is_front = 0;  // 0 or 1; 1 only for a deque
    LentBlock stage;
    std::uint64_t bytes = 0;
};

// pop: its result has the number of bytes removed; they follow if they are wanted and there is no
// stage. If the stage, or without one sequence_inline_max, is too small for the wanted bytes, none
// is removed.
struct SequencePop {
    SequenceName name;
    std::uint64_t is_front = 0;  // 0 or 1
    std::uint64_t is_wanted = 0;
    LentBlock stage;
    std::uint64_t bytes = 0;
};

// read: its result has the number of bytes copied, limited by the stage or sequence_inline_max;
// they follow if there is no stage.
struct SequenceRead {
    SequenceName name;
    std::uint64_t index = 0;
    LentBlock stage;
    std::uint64_t bytes = 0;
};

// splice: the bytes follow if there is no stage. Its result has the length of the content before.
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

// tell: returns the addresses of bytes, and the length of the content.
struct SequenceTell {
    SequenceName name;
    std::uint64_t index = 0;
    std::uint64_t bytes = 0;
};

struct SequenceTold {
    std::uint64_t bytes = 0;
    std::uint64_t capacity = 0;
    std::array<std::uint64_t, 2> addresses{};  // addresses of the pieces; 0: none
    std::array<std::uint64_t, 2> pieces{};     // their bytes
};

// The most bytes in one operation, in either direction.
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
