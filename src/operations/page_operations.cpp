// SPDX-License-Identifier: BSD-3-Clause
// Finds the block, and the page or the words in it.
#include "operations/page_operations.hpp"

#include <cstddef>

#include "base/format.hpp"
#include "os/cpu.hpp"

#include "pages/checked_page.hpp"
#include "pages/homes.hpp"
#include "pages/notices.hpp"
#include "pages/page_text.hpp"
#include "pages/sharers.hpp"
#include "pages/writer_masks.hpp"

namespace acp::operations {

namespace {

using base::Code;

// The bytes [offset, offset + bytes) of a separate block; nullptr: there are none.
std::byte* find_in_block(allocator::OwnedHeap& owner,
                         std::uint64_t address,
                         std::uint64_t offset,
                         std::uint64_t bytes) noexcept {
    const heap::Offset block = owner.offset_of(address);
    const std::uint64_t limit = owner.heap().limit_bytes();
    const bool is_in_heap = block != heap::no_block && bytes <= limit && offset <= limit - bytes;
    if (!is_in_heap || !owner.heap().may_hold(block, offset + bytes, false)) return nullptr;
    return reinterpret_cast<std::byte*>(owner.memory_of(block)) + offset;
}

using Masks = pages::WriterMasks<>;

//   count  pages from the first one on
bool are_sound(const CheckedPages& at, std::uint64_t count, const local::OwnerShape& shape) {
    return at.block % pages::page_bytes == 0 && at.masks % alignof(Masks::Word) == 0 &&
           at.pages <= Masks::pages_max && at.entries <= Masks::pages_max && count <= at.pages &&
           at.page <= at.pages - count && at.home < shape.procs && at.node < shape.procs &&
           at.home != at.node;
}

// The words of the masks; nullptr: they are not in the block.
Masks::Word* find_masks(allocator::OwnedHeap& owner, const CheckedPages& at) noexcept {
    std::byte* const words =
        find_in_block(owner, at.block, at.masks, Masks::bytes(at.pages, at.entries));
    return reinterpret_cast<Masks::Word*>(words);
}

std::string place_of(const CheckedPages& at, std::uint64_t count) {
    return (count == 1 ? "it is " : "they are ") + pages::pages_named(at.page, count) +
           " of the block at global address " + base::hex(at.block);
}

}  // namespace

const pages::DifferenceCode& difference_code() noexcept {
    static const pages::DifferenceCode code({os::has_byte_shuffle(), os::has_byte_compress()});
    return code;
}

Code ApplyDifference::check(const Call& call, const local::OwnerShape& shape) noexcept {
    if (shape.heap_bytes == 0) return Code::unsupported;
    const bool is_sound = call->block % pages::page_bytes == 0 &&
                          call->page < pages::notice_pages_max &&
                          pages::Difference::parse(call.tail).has_value();
    return is_sound ? Code::ok : Code::argument;
}

Code ApplyDifference::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    const auto difference = pages::Difference::parse(call.tail);
    std::byte* const page =
        find_in_block(owner, call->block, call->page * pages::page_bytes, pages::page_bytes);
    if (page == nullptr || !difference.has_value()) return Code::address;
    // Ranks of this node use the page, and other nodes get it.
    difference_code().apply_shared(pages::PageSpan(page, pages::page_bytes), *difference);
    return Code::ok;
}

std::string ApplyDifference::places_of(const Input& input) {
    return "it is page " + std::to_string(input.page) + " of the block at global address " +
           base::hex(input.block);
}

Code MarkSharer::check(const Call& call, const local::OwnerShape& shape) noexcept {
    if (shape.heap_bytes == 0) return Code::unsupported;
    const bool is_sound = call->sharers % alignof(pages::Sharers<>::Word) == 0 &&
                          call->pages <= pages::notice_pages_max && call->count != 0 &&
                          call->count <= mark_pages_max && call->count <= call->pages &&
                          call->first <= call->pages - call->count && call->nodes <= shape.procs &&
                          call->node < call->nodes;
    return is_sound ? Code::ok : Code::argument;
}

Code MarkSharer::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    using Sharers = pages::Sharers<>;
    std::byte* const words =
        find_in_block(owner, call->block, call->sharers, Sharers::bytes(call->pages, call->nodes));
    if (words == nullptr) return Code::address;
    const Sharers sharers(reinterpret_cast<Sharers::Word*>(words), call->pages, call->nodes);
    for (std::uint32_t i = 0; i < call->count; ++i) {
        reply->last_take = sharers.mark(call->first + i, call->node);
    }
    return Code::ok;
}

std::string MarkSharer::places_of(const Input& input) {
    return (input.count == 1 ? "it is " : "they are ") +
           pages::pages_named(input.first, input.count) + " of the block at global address " +
           base::hex(input.block);
}

Code ApplyChecked::check(const Call& call, const local::OwnerShape& shape) noexcept {
    if (shape.heap_bytes == 0) return Code::unsupported;
    const bool is_sound =
        are_sound(call->pages, 1, shape) && pages::Difference::parse(call.tail).has_value();
    return is_sound ? Code::ok : Code::argument;
}

Code ApplyChecked::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    const CheckedPages& at = call->pages;
    const auto difference = pages::Difference::parse(call.tail);
    Masks::Word* const words = find_masks(owner, at);
    std::byte* const pages = find_in_block(owner, at.block, 0, 2 * at.pages * pages::page_bytes);
    if (words == nullptr || pages == nullptr || !difference.has_value()) return Code::address;
    const auto page_at = [&](std::uint64_t number) {
        return pages::PageSpan(pages + number * pages::page_bytes, pages::page_bytes);
    };
    const pages::CheckedPage page(at.page, page_at(at.page), page_at(at.pages + at.page), at.home);
    page.apply(difference_code(), *difference, {at.node, call->rank_next},
               Masks(words, at.pages, at.entries));
    return Code::ok;
}

std::string ApplyChecked::places_of(const Input& input) {
    return place_of(input.pages, 1);
}

Code EndWrites::check(const Call& call, const local::OwnerShape& shape) noexcept {
    if (shape.heap_bytes == 0) return Code::unsupported;
    const bool is_sound = call->count != 0 && call->count <= end_pages_max &&
                          are_sound(call->pages, call->count, shape);
    return is_sound ? Code::ok : Code::argument;
}

Code EndWrites::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    const CheckedPages& at = call->pages;
    Masks::Word* const words = find_masks(owner, at);
    if (words == nullptr) return Code::address;
    const Masks masks(words, at.pages, at.entries);
    for (std::uint32_t i = 0; i < call->count; ++i) masks.end(at.page + i, at.node);
    return Code::ok;
}

std::string EndWrites::places_of(const Input& input) {
    return place_of(input.pages, input.count);
}

Code NoteTouches::check(const Call& call, const local::OwnerShape& shape) noexcept {
    if (shape.heap_bytes == 0) return Code::unsupported;
    const local::TailOf<TouchedByte> touches(call.tail);
    if (!touches.is_sound(1, touches_max) || !are_sound(call->pages, 1, shape))
        return Code::argument;
    for (std::size_t i = 0; i < touches.size(); ++i) {
        const bool is_in =
            touches[i].page < call->pages.pages && touches[i].byte < pages::page_bytes;
        if (!is_in) return Code::argument;
    }
    return Code::ok;
}

Code NoteTouches::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    const CheckedPages& at = call->pages;
    Masks::Word* const words = find_masks(owner, at);
    if (words == nullptr) return Code::address;
    const Masks masks(words, at.pages, at.entries);
    const local::TailOf<TouchedByte> touches(call.tail);
    for (std::size_t i = 0; i < touches.size(); ++i) {
        pages::WrittenBytes bytes;
        bytes.add(touches[i].byte);
        (void)masks.add(touches[i].page, {at.node, call->rank_next, true}, bytes);
    }
    return Code::ok;
}

std::string NoteTouches::places_of(const Input& input) {
    return "they lie in the block at global address " + base::hex(input.pages.block);
}

}  // namespace acp::operations
