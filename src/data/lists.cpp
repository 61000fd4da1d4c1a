// SPDX-License-Identifier: BSD-3-Clause
// Runs operations, retries and combines them, and writes the messages of failures.
#include "data/lists.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/kind_at.hpp"

#include "allocator/heap_operations.hpp"

namespace acp::data {

using acp::list::ApartPayload;
using acp::list::ListEffect;
using acp::list::Position;
using allocator::ListInsert;
using allocator::ListPlaced;
using allocator::TakeWhich;
using base::Code;
using base::Result;
using base::Status;

namespace {

std::span<std::byte> room_at(void* to, std::uint64_t bytes) noexcept {
    return {static_cast<std::byte*>(to), bytes};
}

}  // namespace

Result<GlobalAddress> Lists::make(std::uint32_t process) {
    auto made = RemoteCall<allocator::MakeList>(gma_, allocator_).run(process, {space_.process()});
    if (!made.is_ok()) return std::move(made).failure();
    const GlobalAddress list = made.value().output.list;
    if (list == 0) return allocator_.no_room(process, sizeof(acp::list::ListHead<std::atomic>));
    return list;
}

Status Lists::destroy(GlobalAddress list) {
    while (true) {
        std::array<std::byte, allocator::list_left_max> left;  // NOLINT: written as far as read
        auto destroyed = calls_.run<allocator::DestroyList>({list}, {}, left);
        if (!destroyed.is_ok()) {
            auto failure = std::move(destroyed).failure();
            return failure.code() == Code::system
                       ? names_.failure(ListEffect::damaged, end_of(list))
                       : std::move(failure);
        }
        auto status = free_left(std::span(left).first(destroyed.value().tail_bytes));
        if (!status.is_ok()) return status;
        if (destroyed.value().output.erased < allocator::list_members_max) return {};
    }
}

// Writes the bytes of an element into a block of their process. If that is the list's heap, the block is on loan to this process
// until the insertion.
Result<allocator::LentBlock> Lists::put_apart(const Element& element, bool is_lent) {
    auto made = calls_.block_apart(element.process, element.bytes, is_lent);
    if (!made.is_ok()) return made;
    const allocator::LentBlock block = made.value();
    if (element.bytes == 0) return block;
    auto status = data::put(gma_, block.address, element.data, element.bytes);
    if (status.is_ok()) return block;
    allocator_.give_back(block);
    return status;
}

// Inserts an element with a separate block for its bytes, by the gateway of the list's node.
Result<ListPlaced> Lists::put_with_block(const ListInsert& request,
                                         std::uint32_t home,
                                         const Element& element) {
    auto made = put_apart(element, element.process == home);
    if (!made.is_ok()) return std::move(made).failure();
    const allocator::LentBlock& block = made.value();
    ListInsert lent = request;
    lent.lent_to = block.process;
    const ApartPayload apart{names_.apart_of(element.process, block.address), element.bytes};
    auto placed = calls_.run<allocator::InsertElement>(lent, wire_of(apart));
    if (!placed.is_ok() || placed.value().output.effect != ListEffect::done)
        allocator_.give_back(block);
    if (!placed.is_ok()) return std::move(placed).failure();
    return placed.value().output;
}

// Inserts an element whose list and separate block are both on this node. The block belongs to the list's participant from its
// allocation on: if this process is killed, recovery frees it. If there is no room the caller writes the message after this has
// returned its cache of the heap: the message takes a cache, and threads that hold one each would wait for each other.
//   without_room  becomes the process whose heap has no room, if it is not the list's
Result<ListPlaced> Lists::put_on_node(allocator::NodeHeap& heap,
                                      const ListInsert& request,
                                      const Element& element,
                                      std::uint32_t& without_room) {
    local::Hazards::Lease lease(gma_.hazards());
    allocator::OwnedLists owned(space_, heap, gma_.hazards().index_of(lease.line()));
    allocator::NodeLists& lists = owned.lists();
    const acp::list::BlockNumber list = owned.find(request.list);
    ListPlaced placed;
    if (list == 0) {
        placed.effect = ListEffect::no_list;
        return placed;
    }
    auto& made_apart = lists->made_apart();
    const std::uint64_t bytes = std::max<std::uint64_t>(element.bytes, 1);
    char* memory = lists.blocks().allocate_apart(made_apart, element.process, bytes);
    if (memory == nullptr) {
        lists.find_room();
        memory = lists.blocks().allocate_apart(made_apart, element.process, bytes);
    }
    if (memory == nullptr) {
        without_room = element.process;
        placed.effect = ListEffect::no_room;
        return placed;
    }
    if (element.bytes != 0) std::memcpy(memory, element.data, element.bytes);
    const ApartPayload apart{made_apart.load(std::memory_order_relaxed), element.bytes};
    const acp::list::Payload payload{{&apart, sizeof apart}, true};
    const Position before = request.before.node == 0 ? lists->end_of(list) : request.before;
    placed.effect = lists.with_room([&] {
        return request.is_front != 0 ? lists->push_front(list, payload, placed.at)
                                     : lists->insert(list, before, payload, placed.at);
    });
    if (placed.effect != ListEffect::done) lists->drop_made_apart();
    return placed;
}

Result<ListPlace> Lists::put(const ListPlace& before, bool is_front, const Element& element) {
    auto home = names_.home_of(before.list);
    if (!home.is_ok()) return std::move(home).failure();
    auto at = names_.position(before);
    if (!at.is_ok()) return std::move(at).failure();
    const bool is_apart =
        element.process != home.value() || element.bytes > allocator::list_inline_max;
    const ListInsert request{before.list, at.value(), is_front ? 1U : 0U, is_apart ? 1U : 0U,
                             allocator::NodeHeap::nobody};
    std::uint32_t without_room = home.value();
    Result<ListPlaced> placed = ListPlaced{};
    if (!is_apart) {
        auto returned = calls_.run_at<allocator::InsertElement>(
            home.value(), request, {static_cast<const std::byte*>(element.data), element.bytes});
        if (!returned.is_ok()) return std::move(returned).failure();
        placed = returned.value().output;
    } else if (space_.is_on_node(home.value()) && space_.is_on_node(element.process)) {
        auto heap = allocator_.heap_of(home.value());
        if (!heap.is_ok()) return std::move(heap).failure();
        placed = put_on_node(*heap.value(), request, element, without_room);
    } else {
        placed = put_with_block(request, home.value(), element);
    }
    if (!placed.is_ok()) return std::move(placed).failure();
    if (placed.value().effect == ListEffect::no_room)
        return allocator_.no_room(without_room, element.bytes);
    if (placed.value().effect != ListEffect::done)
        return names_.failure(placed.value().effect, before);
    return names_.place(before.list, placed.value().at);
}

Result<ListPlace> Lists::insert(const ListPlace& before, const Element& element) {
    return put(before, false, element);
}

Result<ListPlace> Lists::push_front(GlobalAddress list, const Element& element) {
    return put(end_of(list), true, element);
}

Result<Lists::Taken> Lists::take(const ListPlace& at, void* to, std::uint64_t room_bytes) {
    return ListTaking(space_, allocator_, calls_).take(at, TakeWhich::at, room_at(to, room_bytes));
}

Result<Lists::Taken> Lists::take_first(GlobalAddress list, void* to, std::uint64_t room_bytes) {
    return ListTaking(space_, allocator_, calls_)
        .take(end_of(list), TakeWhich::first, room_at(to, room_bytes));
}

Result<Lists::Taken> Lists::take_last(GlobalAddress list, void* to, std::uint64_t room_bytes) {
    return ListTaking(space_, allocator_, calls_)
        .take(end_of(list), TakeWhich::last, room_at(to, room_bytes));
}

Result<ListPlace> Lists::move(const ListPlace& before, const ListPlace& element) {
    auto home = names_.home_of(before.list);
    if (!home.is_ok()) return std::move(home).failure();
    auto other = names_.home_of(element.list);
    if (!other.is_ok()) return std::move(other).failure();
    if (home.value() != other.value()) return move_between_heaps(before, element);
    auto to = names_.position(before);
    if (!to.is_ok()) return std::move(to).failure();
    auto from = names_.position(element);
    if (!from.is_ok()) return std::move(from).failure();
    auto returned = RemoteCall<allocator::MoveElement>(gma_, allocator_)
                        .run(home.value(), {before.list, to.value(), element.list, from.value()});
    if (!returned.is_ok()) {
        auto failure = std::move(returned).failure();
        if (failure.code() != Code::stale) return failure;
        for (const GlobalAddress list : {before.list, element.list}) {
            auto refusal = refuse_other_kind(gma_, allocator_, list, "list");
            if (!refusal.is_ok()) return refusal;
        }
        return Status(Code::stale, "no list is at global address " +
                                       allocator_.name_of(before.list) + ", or none at " +
                                       allocator_.name_of(element.list) +
                                       ": it was destroyed, or never created");
    }
    const ListPlaced& moved = returned.value().output;
    if (moved.effect == ListEffect::done) return names_.place(before.list, moved.at);
    if (moved.effect == ListEffect::stale) {
        return Status(Code::stale, "the element " + base::hex(element.element) +
                                       " is not in the list " + allocator_.name_of(element.list) +
                                       " any more, or " + base::hex(before.element) +
                                       " not in the list " + allocator_.name_of(before.list));
    }
    return names_.failure(moved.effect, element);
}

// Exactly one of several concurrent calls takes the element out of its list. A failure after that puts it back.
Result<ListPlace> Lists::move_between_heaps(const ListPlace& before, const ListPlace& element) {
    auto found = content(element);
    if (!found.is_ok()) return std::move(found).failure();
    if (!before.is_end()) {
        auto there = content(before);
        if (!there.is_ok()) return std::move(there).failure();
    }
    std::vector<std::byte> bytes(found.value().bytes);
    auto stored = allocator_.owner_of(found.value().address);
    if (!stored.is_ok()) return std::move(stored).failure();
    ListMoving moving(gma_, allocator_, calls_, {before, element, stored.value(), bytes});
    auto moved = moving.run();
    if (moved.is_ok() || !moving.is_out()) return moved;
    const Element same{bytes.data(), bytes.size(), stored.value()};
    if (insert(moving.next(), same).is_ok() || insert(end_of(element.list), same).is_ok())
        return moved;
    return std::move(moved).failure().within(
        "the element is lost: its new list failed while the element was in neither list, and its "
        "old "
        "list has no room for it any more");
}

Result<Lists::Stretch> Lists::stretch(const ListPlace& from,
                                      bool is_backward,
                                      std::uint32_t most,
                                      std::uint32_t room_bytes) {
    auto at = names_.position(from);
    if (!at.is_ok()) return std::move(at).failure();
    std::array<std::byte, allocator::ReadRange::result_tail_max> elements;  // NOLINT
    auto returned = calls_.run<allocator::ReadRange>(
        {from.list, at.value(), is_backward ? 1U : 0U, most, room_bytes, 0}, {}, elements);
    if (!returned.is_ok()) return std::move(returned).failure();
    const allocator::ListRangeHead& head = returned.value().output;
    if (head.count == 0 && head.effect != ListEffect::done)
        return names_.failure(head.effect, from);
    Stretch found;
    found.is_at_end = head.is_end != 0;
    const std::byte* next = elements.data();
    for (std::uint32_t i = 0; i < head.count; ++i) {
        allocator::ListRecord record;
        std::memcpy(&record, next, sizeof record);
        next += sizeof record;
        const ListPlace met = names_.place(from.list, record.at);
        const GlobalAddress address =
            record.apart != 0 ? names_.address_of(record.apart)
                              : met.element + acp::list::ListNode<std::atomic>::head_bytes;
        Met& added = found.elements.emplace_back(Met{met, {address, record.bytes}, {}, false});
        if (record.apart != 0 || room_bytes == 0) continue;
        const std::uint64_t bytes = std::min<std::uint64_t>(record.bytes, room_bytes);
        added.bytes.assign(next, next + bytes);
        added.has_bytes = true;
        next += (bytes + 7) / 8 * 8;
    }
    return found;
}

Result<ListPlace> Lists::neighbour(const ListPlace& from, bool is_backward) {
    auto at = names_.position(from);
    if (!at.is_ok()) return std::move(at).failure();
    auto found =
        calls_.run<allocator::FindNeighbour>({from.list, at.value(), is_backward ? 1U : 0U});
    if (!found.is_ok()) return std::move(found).failure();
    const ListPlaced& neighbour = found.value().output;
    if (neighbour.effect != ListEffect::done) return names_.failure(neighbour.effect, from);
    return names_.place(from.list, neighbour.at);
}

// The location of an element's bytes, and its first bytes if they were copied (is_whole).
Result<allocator::ListRead> Lists::look(const ListPlace& at, void* to, std::uint64_t room_bytes) {
    auto element = names_.position(at);
    if (!element.is_ok()) return std::move(element).failure();
    auto returned = calls_.run<allocator::ReadElement>({at.list, element.value(), room_bytes}, {},
                                                       room_at(to, room_bytes));
    if (!returned.is_ok()) return std::move(returned).failure();
    const allocator::ListRead& read = returned.value().output;
    if (read.effect != ListEffect::done) return names_.failure(read.effect, at);
    return read;
}

Result<Lists::Content> Lists::content(const ListPlace& at) {
    auto read = look(at, nullptr, 0);
    if (!read.is_ok()) return std::move(read).failure();
    return Content{names_.address_of(read.value().place) + read.value().offset, read.value().bytes};
}

Result<std::uint64_t> Lists::read(const ListPlace& at, void* to, std::uint64_t room_bytes) {
    auto found = look(at, to, room_bytes);
    if (!found.is_ok()) return std::move(found).failure();
    const std::uint64_t bytes = found.value().bytes;
    if (found.value().is_whole != 0 || bytes == 0 || room_bytes == 0) return bytes;
    // The bytes are valid if the element is still in the list after they were read.
    auto status =
        calls_.get(to, names_.address_of(found.value().place), std::min(room_bytes, bytes));
    if (!status.is_ok()) return status;
    auto still = content(at);
    if (!still.is_ok()) return std::move(still).failure();
    return bytes;
}

Result<std::uint64_t> Lists::size(GlobalAddress list) {
    auto counted = calls_.run<allocator::CountElements>({list});
    if (!counted.is_ok()) return std::move(counted).failure();
    return counted.value().output.elements;
}

Status Lists::gather(GlobalAddress to, std::span<const ListPlace> elements) {
    auto home = names_.home_of(to);
    if (!home.is_ok()) return std::move(home).failure();
    RemoteCall<allocator::GatherElements> gathering(gma_, allocator_);
    for (std::size_t done = 0; done < elements.size();) {
        std::array<allocator::ListMember, allocator::list_members_max> members;
        std::size_t count = 0;
        for (; count < members.size() && done < elements.size(); ++count, ++done) {
            auto at = names_.position(elements[done]);
            if (!at.is_ok()) return std::move(at).failure();
            members[count] = {elements[done].list, at.value()};
        }
        auto moved =
            gathering.run(home.value(), {to}, std::as_bytes(std::span(members).first(count)));
        if (moved.is_ok()) continue;
        auto failure = std::move(moved).failure();
        if (failure.code() != Code::stale) return failure;
        auto other = refuse_other_kind(gma_, allocator_, to, "list");
        if (!other.is_ok()) return other;
        return {Code::stale, "no list is at global address " + allocator_.name_of(to) +
                                 ", or one was destroyed whose elements are to be moved there"};
    }
    return {};
}

// Frees the blocks that an operation could not free, process by process. Allocates no memory for that, because without it the
// blocks would leak.   left  their addresses
Status Lists::free_left(local::Bytes left) {
    std::array<GlobalAddress, allocator::blocks_max> blocks{};
    std::size_t count = 0;
    for (const local::TailOf<std::uint64_t> apart(left); count < apart.size(); ++count) {
        blocks[count] = names_.address_of(apart[count]);
    }
    const auto end = blocks.begin() + static_cast<std::ptrdiff_t>(count);
    std::sort(blocks.begin(), end);
    RemoteCall<allocator::FreeBlocks> freeing(gma_, allocator_);
    Status first;
    for (auto next = blocks.begin(); next != end;) {
        const std::uint64_t process = space_.layout().process(*next);
        const auto begin = next;
        next = std::find_if(begin, end, [&](GlobalAddress block) {
            return space_.layout().process(block) != process;
        });
        std::array<heap::Freed, allocator::blocks_max> freed{};
        auto returned = freeing.run(
            static_cast<std::uint32_t>(process), {allocator::BlockOwner::separate, 0},
            std::as_bytes(std::span(begin, next)), std::as_writable_bytes(std::span(freed)));
        if (returned.is_ok() || !first.is_ok()) continue;
        auto failure = std::move(returned).failure();
        // Blocks on a lost rank are gone with it.
        if (failure.code() != Code::peer) first = std::move(failure);
    }
    return first;
}

Status Lists::erase(GlobalAddress list, std::span<const ListPlace> elements) {
    for (std::size_t done = 0; done < elements.size();) {
        std::array<Position, allocator::list_members_max> positions;
        std::size_t count = 0;
        for (; count < positions.size() && done < elements.size(); ++count, ++done) {
            auto at = names_.position(elements[done]);
            if (!at.is_ok()) return std::move(at).failure();
            positions[count] = at.value();
        }
        std::array<std::byte, allocator::list_left_max> left;  // NOLINT: written as far as read
        auto erased = calls_.run<allocator::EraseElements>(
            {list}, std::as_bytes(std::span(positions).first(count)), left);
        if (!erased.is_ok()) return std::move(erased).failure();
        auto status = free_left(std::span(left).first(erased.value().tail_bytes));
        if (!status.is_ok()) return status;
    }
    return {};
}

Result<std::uint64_t> Lists::clear(GlobalAddress list, std::uint64_t most) {
    std::uint64_t cleared = 0;
    while (cleared < most) {
        const std::uint64_t count =
            std::min<std::uint64_t>(allocator::list_members_max, most - cleared);
        std::array<std::byte, allocator::list_left_max> left;  // NOLINT: written as far as read
        auto erased = calls_.run<allocator::ClearList>({list, count}, {}, left);
        if (!erased.is_ok()) return std::move(erased).failure();
        auto status = free_left(std::span(left).first(erased.value().tail_bytes));
        if (!status.is_ok()) return status;
        cleared += erased.value().output.erased;
        if (erased.value().output.erased < count) break;
    }
    return cleared;
}

}  // namespace acp::data
