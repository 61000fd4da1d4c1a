// SPDX-License-Identifier: BSD-3-Clause
// Builds arguments, runs operations here or on other nodes, and writes the messages of failures.
#include "data/lists.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/kind_at.hpp"
#include "data/operation_message.hpp"

#include "allocator/operations.hpp"

namespace acp::data {

using acp::list::ApartPayload;
using acp::list::ListEffect;
using acp::list::Position;
using allocator::ListErased;
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
    if (auto heap = allocator_.heap_of(process); !heap.is_ok()) return std::move(heap).failure();
    OperationRoom result;
    const std::uint64_t maker = space_.process();
    auto told = asks_.ask(0, process, allocator::list_make_number,
                          OperationMessage().add(maker).bytes(), result);
    if (!told.is_ok()) return std::move(told).failure();
    const auto address = value_in<GlobalAddress>(result);
    if (address == 0) return allocator_.no_room(process, sizeof(acp::list::ListHead<std::atomic>));
    return address;
}

Status Lists::destroy(GlobalAddress list) {
    auto home = names_.home_of(list);
    if (!home.is_ok()) return std::move(home).failure();
    while (true) {
        OperationRoom result;
        auto told = asks_.ask(list, home.value(), allocator::list_destroy_number,
                              OperationMessage().add(list).bytes(), result);
        if (!told.is_ok()) {
            auto failure = std::move(told).failure();
            return failure.code() == Code::system
                       ? names_.failure(ListEffect::damaged, ListPlace{list, list, 0})
                       : std::move(failure);
        }
        auto status = free_left(std::span<const std::byte>(result).first(told.value()));
        if (!status.is_ok()) return status;
        if (value_in<ListErased>(result).erased < allocator::list_members_max) return {};
    }
}

// Writes the bytes of an element into a block of their process. If that is the list's heap, the block is on loan to this process
// until the insertion.
Result<allocator::LentBlock> Lists::put_apart(const Element& element, bool is_lent) {
    allocator::LentBlock block;
    if (is_lent) {
        auto lent = allocator_.borrow(element.process, element.bytes);
        if (!lent.is_ok()) return lent;
        block = lent.value();
    } else {
        auto made = allocator_.allocate(element.process, element.bytes, allocator::alignment_least,
                                        allocator::BlockOwner::separate);
        if (!made.is_ok()) return std::move(made).failure();
        block.address = made.value();
    }
    if (element.bytes == 0) return block;
    auto status = data::put(gma_, block.address, element.data, element.bytes);
    if (status.is_ok()) return block;
    allocator_.give_back(block);
    return status;
}

Result<ListPlaced> Lists::put_there(std::uint32_t home,
                                    ListInsert request,
                                    const Element& element) {
    OperationMessage message;
    allocator::LentBlock block;
    if (request.is_apart == 0) {
        message.add(request).add(
            std::span(static_cast<const std::byte*>(element.data), element.bytes));
    } else {
        auto made = put_apart(element, element.process == home);
        if (!made.is_ok()) return std::move(made).failure();
        block = made.value();
        request.lent_to = block.process;
        message.add(request).add(
            ApartPayload{names_.apart_of(element.process, block.address), element.bytes});
    }
    ListPlaced placed;
    auto told = asks_.ask(request.list, home, allocator::list_insert_number, message.bytes(),
                          std::as_writable_bytes(std::span(&placed, 1)));
    if (block.address != 0 && (!told.is_ok() || placed.effect != ListEffect::done))
        allocator_.give_back(block);
    if (!told.is_ok()) return std::move(told).failure();
    return placed;
}

// The list's heap is mapped here. A block for the bytes on this node belongs to the list's participant from its allocation on: if
// this process is killed, recovery frees it. If there is no room the caller writes the message after it has returned its cache of
// the heap: the message takes a cache, and threads that hold one each would wait for each other.
//   without_room  becomes the process whose heap has no room, if it is not the list's
Result<ListPlaced> Lists::put_here(allocator::NodeHeap& heap,
                                   std::uint32_t home,
                                   const ListInsert& request,
                                   const Element& element,
                                   std::uint32_t& without_room) {
    if (request.is_apart != 0 && !space_.is_on_node(element.process))
        return put_there(home, request, element);
    local::Hazards::Lease lease(gma_.hazards());
    allocator::NodeLists lists(heap, gma_.hazards().index_of(lease.line()));
    const acp::list::BlockNumber list = allocator::list_at(space_, home, request.list);
    ListPlaced placed;
    if (list == 0 || !lists->is_list(list)) {
        placed.effect = ListEffect::no_list;
        return placed;
    }
    const Position before = request.before.node == 0 ? lists->end_of(list) : request.before;
    ApartPayload apart;
    acp::list::Payload payload{{element.data, element.bytes}, false};
    auto& made_apart = lists->made_apart();
    if (request.is_apart != 0) {
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
        apart = {made_apart.load(std::memory_order_relaxed), element.bytes};
        payload = {{&apart, sizeof apart}, true};
    }
    placed.effect = lists.with_room([&] {
        return request.is_front != 0 ? lists->push_front(list, payload, placed.at)
                                     : lists->insert(list, before, payload, placed.at);
    });
    if (apart.address != 0 && placed.effect != ListEffect::done) {
        lists->drop_made_apart();
    }
    return placed;
}

Result<ListPlace> Lists::put(const ListPlace& before, bool is_front, const Element& element) {
    auto home = names_.home_of(before.list);
    if (!home.is_ok()) return std::move(home).failure();
    auto at = names_.position(before);
    if (!at.is_ok()) return std::move(at).failure();
    auto heap = allocator_.heap_of(home.value());
    if (!heap.is_ok()) return std::move(heap).failure();
    const bool is_apart =
        element.process != home.value() || element.bytes > allocator::list_inline_max;
    const ListInsert request{before.list, at.value(), is_front ? 1U : 0U, is_apart ? 1U : 0U,
                             allocator::NodeHeap::nobody};
    std::uint32_t without_room = home.value();
    auto placed = heap.value() != nullptr
                      ? put_here(*heap.value(), home.value(), request, element, without_room)
                      : put_there(home.value(), request, element);
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
    return ListTaking(gma_, allocator_, asks_).take(at, TakeWhich::at, room_at(to, room_bytes));
}

Result<Lists::Taken> Lists::take_first(GlobalAddress list, void* to, std::uint64_t room_bytes) {
    return ListTaking(gma_, allocator_, asks_)
        .take(end_of(list), TakeWhich::first, room_at(to, room_bytes));
}

Result<Lists::Taken> Lists::take_last(GlobalAddress list, void* to, std::uint64_t room_bytes) {
    return ListTaking(gma_, allocator_, asks_)
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
    const allocator::ListMove request{before.list, to.value(), element.list, from.value()};
    ListPlaced moved;
    auto told = asks_.ask(0, home.value(), allocator::list_move_number,
                          OperationMessage().add(request).bytes(),
                          std::as_writable_bytes(std::span(&moved, 1)));
    if (!told.is_ok()) {
        auto failure = std::move(told).failure();
        if (failure.code() != Code::stale) return failure;
        for (const GlobalAddress list : {before.list, element.list}) {
            auto refusal = refuse_other_kind(gma_, allocator_, list, "list");
            if (!refusal.is_ok()) return refusal;
        }
        return Status(Code::stale, "no list is at global address " + base::hex(before.list) +
                                       ", or none at " + base::hex(element.list) +
                                       ": it was destroyed, or never created");
    }
    if (moved.effect == ListEffect::done) return names_.place(before.list, moved.at);
    if (moved.effect == ListEffect::stale) {
        return Status(Code::stale, "the element " + base::hex(element.element) +
                                       " is not in the list " + base::hex(element.list) +
                                       " any more, or " + base::hex(before.element) +
                                       " not in the list " + base::hex(before.list));
    }
    return names_.failure(moved.effect, element);
}

// Takes the element out and inserts a copy, so that exactly one of several concurrent calls gets it.
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
    // Bytes from its node are stored in the new node; a separate payload stays on its rank.
    auto old_home = names_.home_of(element.list);
    auto new_home = names_.home_of(before.list);
    const std::uint32_t process =
        stored.value() == old_home.value() ? new_home.value() : stored.value();
    auto taken = take(element, bytes.data(), bytes.size());
    if (!taken.is_ok()) return std::move(taken).failure();
    auto made = insert(before, {bytes.data(), bytes.size(), process});
    if (made.is_ok()) return made;
    const Element same{bytes.data(), bytes.size(), stored.value()};
    if (insert(taken.value().next, same).is_ok() || insert(end_of(element.list), same).is_ok())
        return made;
    return std::move(made).failure().within(
        "the element is lost, for there is no room to put it back");
}

Result<Lists::Stretch> Lists::stretch(const ListPlace& from,
                                      bool is_backward,
                                      std::uint32_t most,
                                      std::uint32_t room_bytes) {
    auto home = names_.home_of(from.list);
    if (!home.is_ok()) return std::move(home).failure();
    auto at = names_.position(from);
    if (!at.is_ok()) return std::move(at).failure();
    const allocator::ListRange request{from.list, at.value(), is_backward ? 1U : 0U,
                                       most,      room_bytes, 0};
    OperationRoom result;
    auto told = asks_.ask(from.list, home.value(), allocator::list_range_number,
                          OperationMessage().add(request).bytes(), result);
    if (!told.is_ok()) return std::move(told).failure();
    const auto head = value_in<allocator::ListRangeHead>(result);
    if (head.count == 0 && head.effect != ListEffect::done)
        return names_.failure(head.effect, from);
    Stretch found;
    found.is_at_end = head.is_end != 0;
    const std::byte* next = result.data() + sizeof head;
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
    auto home = names_.home_of(from.list);
    if (!home.is_ok()) return std::move(home).failure();
    auto heap = allocator_.heap_of(home.value());
    if (!heap.is_ok()) return std::move(heap).failure();
    if (heap.value() == nullptr) {
        auto found = stretch(from, is_backward, 1);
        if (!found.is_ok()) return std::move(found).failure();
        if (found.value().elements.empty()) return end_of(from.list);
        return found.value().elements.front().at;
    }
    auto at = names_.position(from);
    if (!at.is_ok()) return std::move(at).failure();
    local::Hazards::Lease lease(gma_.hazards());
    allocator::NodeLists lists(*heap.value(), gma_.hazards().index_of(lease.line()));
    const acp::list::BlockNumber list = allocator::list_at(space_, home.value(), from.list);
    const Position start = from.is_end() ? lists->end_of(list) : at.value();
    Position to;
    const ListEffect effect =
        is_backward ? lists->previous(list, start, to) : lists->next(list, start, to);
    if (effect != ListEffect::done) return names_.failure(effect, from);
    return names_.place(from.list, to);
}

// The location of an element's bytes, and its first bytes if they were copied (is_whole).
Result<allocator::ListRead> Lists::look(const ListPlace& at, void* to, std::uint64_t room_bytes) {
    auto home = names_.home_of(at.list);
    if (!home.is_ok()) return std::move(home).failure();
    auto element = names_.position(at);
    if (!element.is_ok()) return std::move(element).failure();
    auto heap = allocator_.heap_of(home.value());
    if (!heap.is_ok()) return std::move(heap).failure();
    allocator::ListRead read;
    if (heap.value() != nullptr) {
        local::Hazards::Lease lease(gma_.hazards());
        allocator::NodeLists lists(*heap.value(), gma_.hazards().index_of(lease.line()));
        const acp::list::BlockNumber list = allocator::list_at(space_, home.value(), at.list);
        const Position position = at.is_end() ? lists->end_of(list) : element.value();
        read =
            allocator::read_element(lists, list, position, static_cast<std::byte*>(to), room_bytes);
    } else {
        const allocator::ListReading request{at.list, element.value(), room_bytes};
        OperationRoom result;
        auto told = asks_.ask(at.list, home.value(), allocator::list_read_number,
                              OperationMessage().add(request).bytes(), result);
        if (!told.is_ok()) return std::move(told).failure();
        read = value_in<allocator::ListRead>(result);
        const std::size_t bytes = told.value() - sizeof read;
        if (bytes != 0) std::memcpy(to, result.data() + sizeof read, bytes);
    }
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
        asks_.get(to, names_.address_of(found.value().place), std::min(room_bytes, bytes));
    if (!status.is_ok()) return status;
    auto still = content(at);
    if (!still.is_ok()) return std::move(still).failure();
    return bytes;
}

Result<std::uint64_t> Lists::size(GlobalAddress list) {
    auto home = names_.home_of(list);
    if (!home.is_ok()) return std::move(home).failure();
    std::uint64_t count = 0;
    auto told = asks_.ask(list, home.value(), allocator::list_size_number,
                          OperationMessage().add(list).bytes(),
                          std::as_writable_bytes(std::span(&count, 1)));
    if (!told.is_ok()) return std::move(told).failure();
    return count;
}

Status Lists::gather(GlobalAddress to, std::span<const ListPlace> elements) {
    auto home = names_.home_of(to);
    if (!home.is_ok()) return std::move(home).failure();
    for (std::size_t done = 0; done < elements.size(); done += allocator::list_members_max) {
        OperationMessage message;
        message.add(to);
        const std::size_t count =
            std::min<std::size_t>(allocator::list_members_max, elements.size() - done);
        for (const ListPlace& element : elements.subspan(done, count)) {
            auto at = names_.position(element);
            if (!at.is_ok()) return std::move(at).failure();
            message.add(allocator::ListMember{element.list, at.value()});
        }
        std::uint64_t moved = 0;
        auto told = asks_.ask(0, home.value(), allocator::list_gather_number, message.bytes(),
                              std::as_writable_bytes(std::span(&moved, 1)));
        if (told.is_ok()) continue;
        auto failure = std::move(told).failure();
        if (failure.code() != Code::stale) return failure;
        auto other = refuse_other_kind(gma_, allocator_, to, "list");
        if (!other.is_ok()) return other;
        return {Code::stale, "no list is at global address " + base::hex(to) +
                                 ", or one was destroyed whose elements are to be moved there"};
    }
    return {};
}

// Frees the blocks that an operation could not free, process by process. Allocates no memory for that, because without it the
// blocks would leak.   told  holds a ListErased and the addresses
Status Lists::free_left(std::span<const std::byte> told) {
    std::array<GlobalAddress, allocator::blocks_max> blocks{};
    std::size_t count = 0;
    for (auto rest = told.subspan(sizeof(ListErased)); rest.size() >= sizeof(std::uint64_t);
         rest = rest.subspan(sizeof(std::uint64_t))) {
        blocks[count++] = names_.address_of(value_in<std::uint64_t>(rest));
    }
    const auto end = blocks.begin() + static_cast<std::ptrdiff_t>(count);
    std::sort(blocks.begin(), end);
    Status first;
    for (auto next = blocks.begin(); next != end;) {
        const std::uint64_t process = space_.layout().process(*next);
        const auto begin = next;
        next = std::find_if(begin, end, [&](GlobalAddress block) {
            return space_.layout().process(block) != process;
        });
        std::array<heap::Freed, allocator::blocks_max> freed{};
        auto done = asks_.ask(0, static_cast<std::uint32_t>(process), allocator::free_owned_number,
                              std::as_bytes(std::span(begin, next)),
                              std::as_writable_bytes(std::span(freed)));
        if (done.is_ok() || !first.is_ok()) continue;
        auto status = std::move(done).failure();
        // Blocks on a lost rank are gone with it.
        if (status.code() != Code::peer) first = std::move(status);
    }
    return first;
}

Status Lists::erase(GlobalAddress list, std::span<const ListPlace> elements) {
    auto home = names_.home_of(list);
    if (!home.is_ok()) return std::move(home).failure();
    for (std::size_t done = 0; done < elements.size(); done += allocator::list_members_max) {
        OperationMessage message;
        message.add(list);
        const std::size_t count =
            std::min<std::size_t>(allocator::list_members_max, elements.size() - done);
        for (const ListPlace& element : elements.subspan(done, count)) {
            auto at = names_.position(element);
            if (!at.is_ok()) return std::move(at).failure();
            message.add(at.value());
        }
        OperationRoom result;
        auto told =
            asks_.ask(list, home.value(), allocator::list_erase_number, message.bytes(), result);
        if (!told.is_ok()) return std::move(told).failure();
        auto status = free_left(std::span<const std::byte>(result).first(told.value()));
        if (!status.is_ok()) return status;
    }
    return {};
}

Result<std::uint64_t> Lists::clear(GlobalAddress list, std::uint64_t most) {
    auto home = names_.home_of(list);
    if (!home.is_ok()) return std::move(home).failure();
    std::uint64_t cleared = 0;
    while (cleared < most) {
        const allocator::ListClear request{
            list, std::min<std::uint64_t>(allocator::list_members_max, most - cleared)};
        OperationRoom result;
        auto told = asks_.ask(list, home.value(), allocator::list_clear_number,
                              OperationMessage().add(request).bytes(), result);
        if (!told.is_ok()) return std::move(told).failure();
        const auto erased = value_in<ListErased>(result).erased;
        auto status = free_left(std::span<const std::byte>(result).first(told.value()));
        if (!status.is_ok()) return status;
        cleared += erased;
        if (erased < request.count_max) break;
    }
    return cleared;
}

}  // namespace acp::data
