// SPDX-License-Identifier: BSD-3-Clause
// The heap of a process as typed operations (local/typed_operation.hpp): a process of the same node
// runs them itself, the gateway of the owner's node runs them for other nodes. One operation handles
// several blocks. Any thread.
// Tests: tests/unit/allocator/heap_operations_test.cpp, tests/conformance/heap_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "local/typed_operation.hpp"

#include "allocator/node_heap.hpp"

namespace acp::allocator {

// Whether the job has heaps.
[[nodiscard]] bool has_heap(const local::OperationContext& context) noexcept;

// The offset of an address in the heap of a process of this node; heap::no_block: it is no address
// of it.
[[nodiscard]] heap::Offset offset_in_heap(const local::Space& space,
                                          std::uint32_t process,
                                          memory::GlobalAddress address) noexcept;

// One heap while an operation of the calling thread runs on it.
class OwnedHeap {
public:
    explicit OwnedHeap(local::OperationContext& context) noexcept
        : space_(context.space()),
          own_heap_(std::in_place,
                    space_.segment(),
                    space_.slot_of(context.process()),
                    context.hazards()),
          heap_(*own_heap_),
          thread_(context.thread()) {
        if (thread_ != local::OperationContext::gateway_thread) return;
        gateway_ = &context;
        heap_.give_back_later();
    }

    //   heap    of a process of this node
    //   thread  the caller's number among the threads of its process
    OwnedHeap(const local::Space& space, NodeHeap& heap, std::uint32_t thread) noexcept
        : space_(space), heap_(heap), thread_(thread) {}

    ~OwnedHeap() {
        if (gateway_ != nullptr && heap_.has_to_give_back()) [[unlikely]]
            ask_to_give_back();
    }

    OwnedHeap(const OwnedHeap&) = delete;
    OwnedHeap& operator=(const OwnedHeap&) = delete;

    [[nodiscard]] const local::Space& space() const noexcept { return space_; }

    [[nodiscard]] NodeHeap& heap() noexcept { return heap_; }

    [[nodiscard]] std::uint32_t process() const noexcept { return heap_.process(); }

    [[nodiscard]] std::uint32_t thread() const noexcept { return thread_; }

    [[nodiscard]] heap::Offset offset_of(memory::GlobalAddress address) const noexcept {
        return offset_in_heap(space_, heap_.process(), address);
    }

    [[nodiscard]] memory::GlobalAddress address_of(heap::Offset block) const noexcept {
        return space_.claimed_address(heap_.process(), node::heap_blocks) + block;
    }

    [[nodiscard]] char* memory_of(heap::Offset block) const noexcept {
        const std::uint32_t slot = space_.slot_of(heap_.process());
        return space_.segment().claimed(slot, node::heap_blocks) + block;
    }

    // Whether this is the gateway, for which other requests wait.
    [[nodiscard]] bool is_gateway() const noexcept { return gateway_ != nullptr; }

protected:
    // OperationContext::run_later(). Only of the gateway.
    void run_later(std::uint32_t operation) noexcept { gateway_->run_later(operation); }

private:
    void ask_to_give_back() noexcept;

    local::OperationContext* gateway_ = nullptr;  // if a gateway runs the operation
    const local::Space& space_;
    std::optional<NodeHeap> own_heap_;
    NodeHeap& heap_;
    std::uint32_t thread_;
};

// The base of operations on a heap or on what lies in it. Operation::check_fields(call), if there is
// one, checks the fields of a request.
template <typename Operation,
          typename OwnerType,
          typename InputType,
          typename OutputType,
          std::uint32_t tail_bytes = 0,
          std::uint32_t result_tail_bytes = 0,
          typename TailType = local::Bytes>
struct InHeapOperation : local::OperationTypes<OwnerType,
                                               InputType,
                                               OutputType,
                                               tail_bytes,
                                               result_tail_bytes,
                                               TailType> {
    static base::Code check(const local::OperationCall<InputType, TailType>& call,
                            const local::OwnerShape& shape) noexcept {
        if constexpr (requires { Operation::check_fields(call); }) {
            if (!Operation::check_fields(call)) return base::Code::argument;
        }
        return shape.heap_bytes != 0 ? base::Code::ok : base::Code::unsupported;
    }
};

template <typename Operation,
          typename Input,
          typename Output,
          std::uint32_t tail_bytes = 0,
          std::uint32_t result_tail_bytes = 0>
using HeapOperation =
    InHeapOperation<Operation, OwnedHeap, Input, Output, tail_bytes, result_tail_bytes>;

// The most blocks that one operation allocates or frees.
inline constexpr std::uint32_t blocks_max = memory::invoke_bytes_max / sizeof(std::uint64_t) - 1;
inline constexpr std::uint32_t words_max = blocks_max * sizeof(std::uint64_t);

struct ToAllocate {
    std::uint32_t alignment = alignment_least;
    BlockOwner owner = BlockOwner::program;  // or separate
};

// The tail is the sizes, a uint64 each; the result's is the address of each block, 0 where there was no
// room.
struct AllocateBlocks
    : HeapOperation<AllocateBlocks, ToAllocate, local::Nothing, words_max, words_max> {
    static constexpr local::OperationName name{"heap.allocate", "allocating"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// Gives at most 1 MiB of memory that the heap has and does not use back to the system. A gateway runs
// it in later rounds, once a round, after a request whose freed blocks left more such memory than the
// heap keeps: so no request waits while the kernel takes the pages of a long block.
struct GiveBackIdle : HeapOperation<GiveBackIdle, local::Nothing, local::Nothing> {
    static constexpr local::OperationName name{"heap.give_back",
                                               "giving back the memory of freed blocks"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct ToFree {
    BlockOwner owner = BlockOwner::program;  // or separate
    std::uint32_t reserved = 0;
};

// The tail is the addresses; the result's is a heap::Freed for each.
struct FreeBlocks : HeapOperation<FreeBlocks, ToFree, local::Nothing, words_max, blocks_max> {
    static constexpr local::OperationName name{"heap.free", "freeing"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct BlockName {
    memory::GlobalAddress block = 0;
};

struct UsableBytes {
    std::uint64_t bytes = 0;  // 0: no block begins there
};

struct MeasureBlock : HeapOperation<MeasureBlock, BlockName, UsableBytes> {
    static constexpr local::OperationName name{"heap.measure", "asking for the size of a block"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct ToClear {
    memory::GlobalAddress block = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // limit: clear_bytes_max
};

// A gateway gives the pages of 1 MiB back to the kernel in less than 100 us.
inline constexpr std::uint64_t clear_bytes_max = 1ULL << 20;

// Makes bytes of a block of the program zero. Code address: no such block begins there, or it is
// shorter.
struct ClearBlock : HeapOperation<ClearBlock, ToClear, local::Nothing> {
    static constexpr local::OperationName name{"heap.clear", "clearing a block"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct MeasuredPiece {
    heap::HeapPlace next;
    std::uint64_t is_end = 0;  // 0 or 1
    heap::Usage usage;
};

// The usage of a piece of the heap, which begins at the place.
struct MeasureHeap : HeapOperation<MeasureHeap, heap::HeapPlace, MeasuredPiece> {
    static constexpr local::OperationName name{"heap.usage", "asking for the use of a heap"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct HeapFill {
    std::uint64_t bytes = 0;  // about how many are in use
    std::uint64_t limit = 0;
};

// Reads one word for each of some areas, where the pieces of MeasureHeap read all units.
struct EstimateFill : HeapOperation<EstimateFill, local::Nothing, HeapFill> {
    static constexpr local::OperationName name{"heap.fill", "asking how full a heap is"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct CheckedPiece {
    heap::HeapPlace next;
    std::uint64_t is_end = 0;  // 0 or 1
};

// Checks a piece of the heap, which begins at the place. The result's tail is the first finding, as
// text; empty: there is none. A finding of one call may be an intermediate state of an operation.
struct CheckHeap
    : HeapOperation<CheckHeap, heap::HeapPlace, CheckedPiece, 0, local::tail_most<CheckedPiece>> {
    static constexpr local::OperationName name{"heap.check", "checking a heap"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// The name of a block that is on loan to a process, for bytes in transit: recovery frees it if the
// process dies before the block is taken back or given to a container (heap/loans.hpp).
struct LentBlock {
    std::uint64_t address = 0;                 // 0: there was no room
    std::uint64_t process = NodeHeap::nobody;  // nobody: there was no room for the loan
};

struct ToLend {
    std::uint64_t bytes = 0;
    std::uint64_t process = 0;  // the caller's
};

// Allocates such a block.
struct LendBlock : HeapOperation<LendBlock, ToLend, LentBlock> {
    static constexpr local::OperationName name{"heap.lend", "lending a block"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// Frees such a block. Code stale: it is not on loan.
struct TakeBackBlock : HeapOperation<TakeBackBlock, LentBlock, local::Nothing> {
    static constexpr local::OperationName name{"heap.take_back", "taking a block back"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

struct ToReplace {
    LentBlock lent;
    memory::GlobalAddress old = 0;
};

struct Replaced {
    heap::Freed freed = heap::Freed::done;  // anything else: nothing has changed
};

// Puts a block on loan in the place of another one of the same heap, which is freed. Code stale: the
// block is not on loan.
struct ReplaceBlock : HeapOperation<ReplaceBlock, ToReplace, Replaced> {
    static constexpr local::OperationName name{"heap.replace",
                                               "putting a block in the place of another one"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

// The rows of a heap's blocks.
inline constexpr const auto& heap_operations = local::rows_of<AllocateBlocks,
                                                              FreeBlocks,
                                                              GiveBackIdle,
                                                              MeasureBlock,
                                                              ClearBlock,
                                                              MeasureHeap,
                                                              EstimateFill,
                                                              CheckHeap,
                                                              LendBlock,
                                                              TakeBackBlock,
                                                              ReplaceBlock>;

}  // namespace acp::allocator
