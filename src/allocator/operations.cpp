// SPDX-License-Identifier: BSD-3-Clause
// Reads the arguments, works on the heap, writes the result.
#include "allocator/operations.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/format.hpp"

namespace acp::allocator {

namespace {

using base::Code;
using local::NumberedOperation;
using local::OperationContext;
using memory::GlobalAddress;
using Ran = NumberedOperation::Ran;
using Arguments = std::span<const std::byte>;
using Result = std::span<std::byte>;

constexpr std::uint32_t word_bytes = sizeof(std::uint64_t);

std::uint64_t word_at(Arguments bytes, std::size_t index) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + index * word_bytes, word_bytes);
    return word;
}

void set_word(Result bytes, std::size_t index, std::uint64_t word) noexcept {
    std::memcpy(bytes.data() + index * word_bytes, &word, word_bytes);
}

GlobalAddress heap_start(const local::Space& space, std::uint32_t process) noexcept {
    return space.claimed_address(process, node::Claim::heap_blocks);
}

NodeHeap heap_of(const OperationContext& context) noexcept {
    const local::Space& space = context.space();
    return {space.segment(), space.slot_of(context.process()), context.hazards()};
}

Ran run_allocate(OperationContext& context, Arguments arguments, Result result) noexcept {
    AllocateHead head;
    if (arguments.size() < sizeof head || arguments.size() % word_bytes != 0) {
        return {Code::argument, 0};
    }
    std::memcpy(&head, arguments.data(), sizeof head);
    if (!std::has_single_bit(head.alignment) || head.alignment > alignment_most ||
        (head.owner != BlockOwner::program && head.owner != BlockOwner::separate)) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    const Arguments sizes = arguments.subspan(sizeof head);
    const std::size_t count = sizes.size() / word_bytes;
    NodeHeap heap = heap_of(context);
    const GlobalAddress start = heap_start(context.space(), context.process());
    for (std::size_t i = 0; i < count; ++i) {
        const heap::Offset block =
            heap.allocate(context.thread(), word_at(sizes, i), head.alignment, head.owner);
        set_word(result, i, block != heap::no_block ? start + block : 0);
    }
    return {Code::ok, static_cast<std::uint32_t>(count * word_bytes)};
}

template <BlockOwner owner>
Ran run_free(OperationContext& context, Arguments arguments, Result result) noexcept {
    if (arguments.size() % word_bytes != 0) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    NodeHeap heap = heap_of(context);
    const std::size_t count = arguments.size() / word_bytes;
    for (std::size_t i = 0; i < count; ++i) {
        const heap::Offset block =
            offset_in_heap(context.space(), context.process(), word_at(arguments, i));
        const heap::Freed freed = heap.free(context.thread(), block, owner);
        result[i] = static_cast<std::byte>(freed);
    }
    return {Code::ok, static_cast<std::uint32_t>(count)};
}

Ran run_usable(OperationContext& context, Arguments arguments, Result result) noexcept {
    if (arguments.size() != word_bytes) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    const heap::Offset block =
        offset_in_heap(context.space(), context.process(), word_at(arguments, 0));
    set_word(result, 0, heap_of(context).usable_bytes(block));
    return {Code::ok, word_bytes};
}

Ran run_clear(OperationContext& context, Arguments arguments, Result /*result*/) noexcept {
    ClearRequest request;
    if (arguments.size() != sizeof request) return {Code::argument, 0};
    std::memcpy(&request, arguments.data(), sizeof request);
    if (request.bytes > clear_bytes_max) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    const NodeHeap heap = heap_of(context);
    const heap::Offset block = offset_in_heap(context.space(), context.process(), request.block);
    const std::uint64_t usable = heap.usable_bytes(block);
    if (request.offset > usable || request.bytes > usable - request.offset)
        return {Code::address, 0};
    heap.clear_blocks(block + request.offset, request.bytes);
    return {};
}

Ran run_usage(OperationContext& context, Arguments /*arguments*/, Result result) noexcept {
    if (!has_heap(context)) return {Code::unsupported, 0};
    const heap::Usage usage = heap_of(context).usage(context.thread());
    std::memcpy(result.data(), &usage, sizeof usage);
    return {Code::ok, sizeof usage};
}

Ran run_in_use(OperationContext& context, Arguments /*arguments*/, Result result) noexcept {
    if (!has_heap(context)) return {Code::unsupported, 0};
    const NodeHeap heap = heap_of(context);
    set_word(result, 0, heap.bytes_in_use());
    set_word(result, 1, heap.limit_bytes());
    return {Code::ok, 2 * word_bytes};
}

Ran run_check(OperationContext& context, Arguments /*arguments*/, Result result) noexcept {
    if (!has_heap(context)) return {Code::unsupported, 0};
    try {
        const std::vector<std::string> findings = heap_of(context).findings(context.thread());
        if (findings.empty()) return {};
        const std::string& first = findings.front();
        const std::size_t bytes = std::min(first.size(), result.size());
        std::memcpy(result.data(), first.data(), bytes);
        return {Code::ok, static_cast<std::uint32_t>(bytes)};
    } catch (const std::bad_alloc&) {
        return {Code::memory, 0};
    }
}

Ran run_lend(OperationContext& context, Arguments arguments, Result result) noexcept {
    LendRequest request;
    if (arguments.size() != sizeof request) return {Code::argument, 0};
    std::memcpy(&request, arguments.data(), sizeof request);
    if (!has_heap(context)) return {Code::unsupported, 0};
    LentBlock lent{0, request.process};
    const heap::Offset block = heap_of(context).lend(context.thread(), request.bytes, lent.process);
    if (block != heap::no_block)
        lent.address = heap_start(context.space(), context.process()) + block;
    std::memcpy(result.data(), &lent, sizeof lent);
    return {Code::ok, sizeof lent};
}

Ran run_take_back(OperationContext& context, Arguments arguments, Result /*result*/) noexcept {
    LentBlock lent;
    if (arguments.size() != sizeof lent) return {Code::argument, 0};
    std::memcpy(&lent, arguments.data(), sizeof lent);
    if (!has_heap(context)) return {Code::unsupported, 0};
    NodeHeap heap = heap_of(context);
    const heap::Offset block = offset_in_heap(context.space(), context.process(), lent.address);
    const bool is_freed =
        block != heap::no_block && heap.free_lent(context.thread(), block, lent.process);
    return {is_freed ? Code::ok : Code::stale, 0};
}

Ran run_replace(OperationContext& context, Arguments arguments, Result result) noexcept {
    ReplaceRequest request;
    if (arguments.size() != sizeof request) return {Code::argument, 0};
    std::memcpy(&request, arguments.data(), sizeof request);
    if (!has_heap(context)) return {Code::unsupported, 0};
    const auto offset_of = [&](GlobalAddress address) {
        return offset_in_heap(context.space(), context.process(), address);
    };
    const heap::Offset lent = offset_of(request.lent.address);
    if (lent == heap::no_block) return {Code::stale, 0};
    const auto freed = heap_of(context).replace(context.thread(), offset_of(request.old), lent,
                                                request.lent.process);
    if (!freed) return {Code::stale, 0};
    result[0] = static_cast<std::byte>(*freed);
    return {Code::ok, 1};
}

std::string places_of_free(Arguments arguments) {
    if (arguments.size() < word_bytes) return "no address";
    return "the first address is " + base::hex(word_at(arguments, 0));
}

}  // namespace

bool has_heap(const OperationContext& context) noexcept {
    return context.space().segment().shape().heap_bytes != 0;
}

heap::Offset offset_in_heap(const local::Space& space,
                            std::uint32_t process,
                            GlobalAddress address) noexcept {
    const GlobalAddress offset = address - heap_start(space, process);
    return offset < space.segment().shape().heap_bytes ? offset : heap::no_block;
}

const std::array<NumberedOperation, operation_count>& operations() noexcept {
    constexpr std::uint32_t most = memory::invoke_bytes_max;
    static constexpr std::array<NumberedOperation, operation_count> rows{{
        {allocate_number, "allocating", most, blocks_max * word_bytes, run_allocate},
        {free_number, "freeing", blocks_max * word_bytes, blocks_max, run_free<BlockOwner::program>,
         places_of_free},
        {usable_number, "asking for the size of a block", word_bytes, word_bytes, run_usable},
        {clear_number, "clearing a block", sizeof(ClearRequest), 0, run_clear},
        {usage_number, "asking for the use of a heap", 0, sizeof(heap::Usage), run_usage},
        {in_use_number, "asking how full a heap is", 0, 2 * word_bytes, run_in_use},
        {check_number, "checking a heap", 0, most, run_check},
        {lend_number, "lending a block", sizeof(LendRequest), sizeof(LentBlock), run_lend},
        {take_back_number, "taking a block back", sizeof(LentBlock), 0, run_take_back,
         places_of_free},
        {free_owned_number, "freeing blocks of a container", blocks_max * word_bytes, blocks_max,
         run_free<BlockOwner::separate>, places_of_free},
        {replace_number, "putting a block in the place of another one", sizeof(ReplaceRequest), 1,
         run_replace, places_of_free},
    }};
    return rows;
}

}  // namespace acp::allocator
