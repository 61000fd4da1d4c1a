// SPDX-License-Identifier: BSD-3-Clause
// The checks of requests, and their execution on a heap.
#include "allocator/heap_operations.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <string>

#include "base/format.hpp"

namespace acp::allocator {

using base::Code;
using memory::GlobalAddress;

namespace {

using Words = local::TailOf<std::uint64_t>;

bool is_sound_owner(BlockOwner owner) noexcept {
    return owner == BlockOwner::program || owner == BlockOwner::separate;
}

// The sizes for which a request has found no room: the heap is not searched for them again. A longer
// block than a large one that found no room finds none either; a small one may, in a span of its class.
class RefusedSizes {
public:
    void add(std::uint64_t bytes) noexcept {
        if (bytes <= heap::small_max) {
            last_small_ = bytes;
        } else {
            least_large_ = std::min(least_large_, bytes);
        }
    }

    [[nodiscard]] bool has(std::uint64_t bytes) const noexcept {
        return bytes <= heap::small_max ? bytes == last_small_ : bytes >= least_large_;
    }

private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    std::uint64_t last_small_ = none;
    std::uint64_t least_large_ = none;
};

}  // namespace

bool has_heap(const local::OperationContext& context) noexcept {
    return context.space().segment().shape().heap_bytes != 0;
}

heap::Offset offset_in_heap(const local::Space& space,
                            std::uint32_t process,
                            GlobalAddress address) noexcept {
    const GlobalAddress offset = address - space.claimed_address(process, node::heap_blocks);
    return offset < space.segment().shape().heap_bytes ? offset : heap::no_block;
}

void OwnedHeap::ask_to_give_back() noexcept {
    run_later(local::operation_number<GiveBackIdle>);
}

bool AllocateBlocks::check_fields(const Call& call) noexcept {
    return Words(call.tail).is_sound(0, blocks_max) && std::has_single_bit(call->alignment) &&
           call->alignment <= alignment_most && is_sound_owner(call->owner);
}

Code AllocateBlocks::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    const Words sizes(call.tail);
    RefusedSizes refused;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const heap::Offset block =
            refused.has(sizes[i])
                ? heap::no_block
                : owner.heap().allocate(owner.thread(), sizes[i], call->alignment, call->owner);
        if (block == heap::no_block) refused.add(sizes[i]);
        (void)reply.tail.add(block != heap::no_block ? owner.address_of(block) : 0);
    }
    return Code::ok;
}

bool FreeBlocks::check_fields(const Call& call) noexcept {
    return Words(call.tail).is_sound(0, blocks_max) && is_sound_owner(call->owner);
}

Code FreeBlocks::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    const Words addresses(call.tail);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const heap::Offset block = owner.offset_of(addresses[i]);
        (void)reply.tail.add(owner.heap().free(owner.thread(), block, call->owner));
    }
    return Code::ok;
}

Code GiveBackIdle::run(Owner& owner, const Call& /*call*/, Reply& /*reply*/) noexcept {
    owner.heap().give_back_one(owner.thread());
    return Code::ok;
}

Code MeasureBlock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    reply->bytes = owner.heap().usable_bytes(owner.offset_of(call->block));
    return Code::ok;
}

bool ClearBlock::check_fields(const Call& call) noexcept {
    return call->bytes <= clear_bytes_max;
}

Code ClearBlock::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    const heap::Offset block = owner.offset_of(call->block);
    const std::uint64_t usable = owner.heap().usable_bytes(block);
    if (call->offset > usable || call->bytes > usable - call->offset) return Code::address;
    owner.heap().clear_blocks(block + call->offset, call->bytes);
    return Code::ok;
}

Code MeasureHeap::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    reply->next = call.input;
    reply->usage = owner.heap().usage_of_piece(owner.thread(), reply->next);
    reply->is_end = owner.heap().is_end(reply->next) ? 1 : 0;
    return Code::ok;
}

Code EstimateFill::run(Owner& owner, const Call& /*call*/, Reply& reply) noexcept {
    reply->bytes = owner.heap().bytes_in_use();
    reply->limit = owner.heap().limit_bytes();
    return Code::ok;
}

Code CheckHeap::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    reply->next = call.input;
    const heap::UnitFinding first = owner.heap().finding_in_piece(owner.thread(), reply->next);
    reply->is_end = owner.heap().is_end(reply->next) ? 1 : 0;
    if (first.unit == heap::HeapPlace::no_head) return Code::ok;
    try {
        const std::string text = heap::finding_text(first.unit, first.what);
        const std::size_t bytes = std::min(text.size(), reply.tail.room().size());
        std::memcpy(reply.tail.room().data(), text.data(), bytes);
        reply.tail.advance(bytes);
        return Code::ok;
    } catch (const std::bad_alloc&) {
        return Code::memory;
    }
}

Code LendBlock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    reply->process = call->process;
    const heap::Offset block = owner.heap().lend(owner.thread(), call->bytes, reply->process);
    if (block != heap::no_block) reply->address = owner.address_of(block);
    return Code::ok;
}

Code TakeBackBlock::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    const heap::Offset block = owner.offset_of(call->address);
    const bool is_freed =
        block != heap::no_block && owner.heap().free_lent(owner.thread(), block, call->process);
    return is_freed ? Code::ok : Code::stale;
}

std::string TakeBackBlock::places_of(const Input& input) {
    return "the block is " + base::hex(input.address);
}

Code ReplaceBlock::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    const heap::Offset lent = owner.offset_of(call->lent.address);
    if (lent == heap::no_block) return Code::stale;
    const auto freed =
        owner.heap().replace(owner.thread(), owner.offset_of(call->old), lent, call->lent.process);
    if (!freed) return Code::stale;
    reply->freed = *freed;
    return Code::ok;
}

std::string ReplaceBlock::places_of(const Input& input) {
    return "the block is " + base::hex(input.lent.address);
}

}  // namespace acp::allocator
