// SPDX-License-Identifier: BSD-3-Clause
// The vectors and deques of a process's heap as typed operations (local/typed_operation.hpp): a
// process of the same node runs them itself, the gateway of the owner's node runs them for other
// nodes. Bytes that do not fit into a message go through a block of the same heap, the stage, which
// is on loan to the caller until it returns it. All operations on a sequence return stale if no
// sequence of the kind is at the address that they name, and address if the stage is no block of
// this heap that has room for the bytes and is on loan. Any thread.
// Tests: tests/unit/allocator/sequence_operations_test.cpp, tests/conformance/vector_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "local/typed_operation.hpp"

#include "allocator/heap_operations.hpp"
#include "allocator/node_sequences.hpp"
#include "sequence/sequence.hpp"

namespace acp::allocator {

// The sequence at an address in the heap of a process of this node; 0: none can begin there.
[[nodiscard]] table::BlockNumber sequence_at(const local::Space& space,
                                             std::uint32_t process,
                                             memory::GlobalAddress address) noexcept;

// How operations name a sequence.
struct SequenceName {
    std::uint64_t address = 0;
    sequence::SequenceKind kind = sequence::SequenceKind::vector;
    // 0, or the gateway copies any number of bytes and takes the sequence over from a participant
    // that holds it
    std::uint64_t may_be_long = 0;
};

// "the vector or deque is 0x..."
[[nodiscard]] std::string sequence_named(memory::GlobalAddress address);

// The most bytes that a gateway copies in one operation on a sequence.
inline constexpr std::uint64_t copied_bytes_max = 1ULL << 16;

// The sequences of one heap while an operation of the calling thread runs on them.
class OwnedSequences : private OwnedHeap {
public:
    explicit OwnedSequences(local::OperationContext& context) noexcept
        : OwnedHeap(context), sequences_(heap(), thread()) {
        if (thread() == local::OperationContext::gateway_thread) sequences_.bound(copied_bytes_max);
    }

    //   heap    of a process of this node
    //   thread  the caller's number among the threads of its process
    OwnedSequences(const local::Space& space, NodeHeap& heap, std::uint32_t thread) noexcept
        : OwnedHeap(space, heap, thread), sequences_(heap, thread) {}

    ~OwnedSequences() = default;
    OwnedSequences(const OwnedSequences&) = delete;
    OwnedSequences& operator=(const OwnedSequences&) = delete;

    [[nodiscard]] NodeSequences& sequences() noexcept { return sequences_; }

    // 0: no sequence of the kind is there.
    [[nodiscard]] table::BlockNumber find(const SequenceName& name) noexcept;

    using OwnedHeap::address_of;
    using OwnedHeap::heap;
    using OwnedHeap::process;
    using OwnedHeap::space;

    // The memory of a stage; empty: it is no block with room for the bytes, or not on loan.
    [[nodiscard]] std::span<char> stage(const LentBlock& lent, std::uint64_t bytes = 1) noexcept;

    // Makes a stage the body of a sequence, and ends its loan, or does neither.
    [[nodiscard]] sequence::SequenceEffect adopt(table::BlockNumber sequence,
                                                 const LentBlock& lent,
                                                 sequence::NewBody body) noexcept;

private:
    NodeSequences sequences_;
    std::optional<NodeHeap::Borrowed> stage_;
};

// The base of operations on one sequence: calls Operation::on(owner, sequence, call, reply) for the
// sequence that the input names.
template <typename Operation,
          typename InputType,
          typename OutputType,
          std::uint32_t tail_bytes = 0,
          std::uint32_t result_tail_bytes = 0>
struct SequenceOperation : InHeapOperation<Operation,
                                           OwnedSequences,
                                           InputType,
                                           OutputType,
                                           tail_bytes,
                                           result_tail_bytes> {
    using Block = table::BlockNumber;

    static base::Code run(OwnedSequences& owner,
                          const local::OperationCall<InputType>& call,
                          local::OperationReply<OutputType>& reply) noexcept {
        const Block found = owner.find(call->name);
        return found != 0 ? Operation::on(owner, found, call, reply) : base::Code::stale;
    }

    static std::string places_of(const InputType& input) {
        return sequence_named(input.name.address);
    }
};

// The longest content that a sequence is made with; ExtendSequence makes it longer.
inline constexpr std::uint64_t made_bytes_max = 1ULL << 16;

struct SequenceToMake {
    sequence::SequenceKind kind = sequence::SequenceKind::vector;
    std::uint64_t bytes = 0;                 // length of the content, at most made_bytes_max
    std::uint64_t capacity = 0;              // bytes
    std::uint64_t maker = NodeHeap::nobody;  // index of the process in the job
};

struct MadeSequence {
    memory::GlobalAddress address = 0;       // 0: there is no room
    std::uint64_t maker = NodeHeap::nobody;  // the process with the loan
};

// Makes a sequence whose content is zero, on loan to its maker until it is used (table/first_use.hpp).
struct MakeSequence : InHeapOperation<MakeSequence, OwnedSequences, SequenceToMake, MadeSequence> {
    static constexpr local::OperationName name{"sequence.make", "making a vector or deque"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct SequenceToExtend {
    SequenceName name;
    std::uint64_t maker = NodeHeap::nobody;  // the one that MakeSequence returned
    std::uint64_t bytes = 0;                 // <= capacity
};

struct ExtendedSequence {
    sequence::SequenceEffect effect = sequence::SequenceEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t there = 0;  // length of the content now
};

// Appends up to 1 MiB of zero bytes to a sequence that no process but its maker knows. The maker
// repeats the operation until the content has the requested length. Code stale: recovery has
// destroyed the sequence, because the maker was marked dead.
struct ExtendSequence
    : InHeapOperation<ExtendSequence, OwnedSequences, SequenceToExtend, ExtendedSequence> {
    static constexpr local::OperationName name{"sequence.extend", "extending a vector or deque"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

struct SequenceToDestroy {
    SequenceName name;
};

struct DestroySequence : SequenceOperation<DestroySequence, SequenceToDestroy, local::Nothing> {
    static constexpr local::OperationName name{"sequence.destroy", "destroying a vector or deque"};
    static base::Code on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept;
};

// The result of changes and reads. With any other effect than done nothing has changed.
struct SequenceResult {
    sequence::SequenceEffect effect = sequence::SequenceEffect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t bytes = 0;  // outside, of SpliceBytes: length of the content
    std::uint64_t there = 0;  // pop and read: length of the content at that moment
};

struct SequencePush {
    SequenceName name;
    std::uint64_t is_front = 0;  // 0 or 1; 1 only for a deque
    LentBlock stage;             // address 0: the bytes are the tail
    std::uint64_t bytes = 0;
};

struct SequencePop {
    SequenceName name;
    std::uint64_t is_front = 0;   // 0 or 1; 1 only for a deque
    std::uint64_t is_wanted = 0;  // 0: the bytes are dropped
    LentBlock stage;              // address 0: the bytes go into the tail of the result
    std::uint64_t bytes = 0;
    std::uint64_t version = sequence::any_version;  // see sequence::Removal
};

struct SequenceRead {
    SequenceName name;
    std::uint64_t index = 0;
    LentBlock stage;  // address 0: the bytes go into the tail of the result
    std::uint64_t bytes = 0;
};

struct SequenceSplice {
    SequenceName name;
    std::uint64_t at = 0;
    std::uint64_t removed = 0;
    std::uint64_t added = 0;
    std::uint64_t capacity_least = 0;
    std::uint32_t must_fit = 0;    // 0 or 1
    std::uint32_t may_shrink = 0;  // 0 or 1
    LentBlock stage;               // address 0: the bytes are the tail
};

// The most bytes of a tail, in either direction.
inline constexpr std::uint32_t sequence_inline_max = local::tail_most<SequenceSplice>;

// Returns the index of the first byte.
struct PushBytes : SequenceOperation<PushBytes, SequencePush, SequenceResult, sequence_inline_max> {
    static constexpr local::OperationName name{"sequence.push", "a push"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept;
};

struct PieceToPush {
    SequenceName name;
    std::uint64_t is_front = 0;  // 0 or 1; 1 only for a deque
    std::uint64_t version = 0;
    LentBlock stage;          // has all bytes of the push, from its start on
    std::uint64_t total = 0;  // bytes of the push
    std::uint64_t at = 0;     // the piece begins there in the push
    std::uint64_t bytes = 0;  // 1 to copied_bytes_max
};

// Writes a piece of a push beside the content: see sequence::PushInPieces. Returns how many bytes of
// the push are written, and in `there` the index of its first one.
struct WritePiece : SequenceOperation<WritePiece, PieceToPush, SequenceResult> {
    static constexpr local::OperationName name{"sequence.push_piece", "a piece of a push"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept;
};

// Returns the number of bytes removed. If the stage, or without one the tail, is too small for the
// wanted bytes, none is removed.
struct PopBytes : SequenceOperation<PopBytes, SequencePop, SequenceResult, 0, sequence_inline_max> {
    static constexpr local::OperationName name{"sequence.pop", "a pop"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept;
};

// Returns the number of bytes copied, at most as many as the stage or the tail takes.
struct ReadBytes
    : SequenceOperation<ReadBytes, SequenceRead, SequenceResult, 0, sequence_inline_max> {
    static constexpr local::OperationName name{"sequence.read", "a read"};
    static base::Code on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept;
};

// Returns the length of the content before.
struct SpliceBytes
    : SequenceOperation<SpliceBytes, SequenceSplice, SequenceResult, sequence_inline_max> {
    static constexpr local::OperationName name{"sequence.splice", "a change of a vector or deque"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept;
};

struct SequenceTell {
    SequenceName name;
    std::uint64_t index = 0;
    std::uint64_t bytes = 0;
};

struct SequenceTold {
    std::uint64_t bytes = 0;
    std::uint64_t capacity = 0;
    std::uint64_t version = 0;                 // differs between two contents
    std::array<std::uint64_t, 2> addresses{};  // addresses of the pieces; 0: none
    std::array<std::uint64_t, 2> pieces{};     // their bytes
};

// Returns the addresses of a range, and the length of the content. Code system: the sequence's words
// contradict each other.
struct TellSequence : SequenceOperation<TellSequence, SequenceTell, SequenceTold> {
    static constexpr local::OperationName name{"sequence.tell", "a look at a vector or deque"};
    static base::Code on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept;
};

struct ContentToCopy {
    SequenceName name;
    std::uint64_t version = 0;
    std::uint64_t index = 0;
    std::uint64_t bytes = 0;  // at most copied_bytes_max
    LentBlock stage;
    std::uint64_t at = 0;  // where the bytes go in the stage
};

// Copies a piece of the content of a version into a stage. Effect changed: the content has another
// version.
struct CopyContent : SequenceOperation<CopyContent, ContentToCopy, SequenceResult> {
    static constexpr local::OperationName name{"sequence.copy", "copying a vector or deque"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept;
};

struct BodyToAdopt {
    SequenceName name;
    std::uint64_t version = 0;
    LentBlock stage;             // the content begins behind Body::head_bytes
    std::uint64_t bytes = 0;     // length of the content
    std::uint64_t capacity = 0;  // bytes
};

// Puts a stage in the place of the body of a sequence and ends its loan, if the content still has
// the version. Effect changed: it has another one, and the stage stays on loan.
struct AdoptBody : SequenceOperation<AdoptBody, BodyToAdopt, SequenceResult> {
    static constexpr local::OperationName name{"sequence.adopt",
                                               "replacing the body of a vector or deque"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code on(Owner& owner, Block sequence, const Call& call, Reply& reply) noexcept;
};

// The rows of this layer.
inline constexpr const auto& sequence_operations = local::rows_of<MakeSequence,
                                                                  ExtendSequence,
                                                                  DestroySequence,
                                                                  PushBytes,
                                                                  PopBytes,
                                                                  ReadBytes,
                                                                  SpliceBytes,
                                                                  TellSequence,
                                                                  WritePiece,
                                                                  CopyContent,
                                                                  AdoptBody>;

}  // namespace acp::allocator
