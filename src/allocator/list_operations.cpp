// SPDX-License-Identifier: BSD-3-Clause
// Reads the arguments, works on the list, writes the result.
#include "allocator/list_operations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/format.hpp"

#include "allocator/operation_bytes.hpp"
#include "allocator/operations.hpp"

namespace acp::allocator {

namespace list_calls {
namespace {

using base::Code;
using list::BlockNumber;
using list::ListEffect;
using list::Position;
using local::NumberedOperation;
using local::OperationContext;
using memory::GlobalAddress;
using Ran = NumberedOperation::Ran;
using Arguments = OperationArguments;
using Result = OperationResult;

template <typename Value>
Ran told(Result result, const Value& value, std::size_t more = 0) noexcept {
    std::memcpy(result.data(), &value, sizeof value);
    return {Code::ok, static_cast<std::uint32_t>(sizeof value + more)};
}

// The heap and its lists for the length of an operation.
class Opened {
public:
    explicit Opened(OperationContext& context) noexcept
        : context_(context),
          heap_(context.space().segment(),
                context.space().slot_of(context.process()),
                context.hazards()),
          lists_(heap_, context.thread()) {}

    [[nodiscard]] NodeLists& lists() noexcept { return lists_; }

    [[nodiscard]] NodeHeap& heap() noexcept { return heap_; }

    // The offset of a separate payload in this heap; no_block: it is in another heap.
    [[nodiscard]] heap::Offset apart_here(std::uint64_t apart) const noexcept {
        return apart != 0 && process_of_apart(apart) == heap_.process()
                   ? list::offset_of(block_of_apart(apart))
                   : heap::no_block;
    }

    // 0: no list is there.
    [[nodiscard]] BlockNumber list(GlobalAddress address) noexcept {
        const BlockNumber found = list_at(context_.space(), context_.process(), address);
        return found != 0 && lists_->is_list(found) ? found : 0;
    }

private:
    OperationContext& context_;
    NodeHeap heap_;
    NodeLists lists_;
};

Position placed(BlockNumber list, const Position& at) noexcept {
    return at.node == 0 ? list::SharedLists<>::end_of(list) : at;
}

Ran run_make(OperationContext& context, Arguments arguments, Result result) noexcept {
    std::uint64_t maker = NodeHeap::nobody;
    if (!take(arguments, maker) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    BlockNumber made = 0;
    (void)opened.lists().with_room([&] {
        made = opened.lists()->make(maker);
        return made != 0 ? ListEffect::done : ListEffect::no_room;
    });
    opened.lists()->keep();
    const GlobalAddress start =
        context.space().claimed_address(context.process(), node::Claim::heap_blocks);
    return told(result, made == 0 ? GlobalAddress{0} : start + list::offset_of(made));
}

Ran run_insert(OperationContext& context, Arguments arguments, Result result) noexcept {
    ListInsert request;
    if (!take(arguments, request) || request.is_front > 1 || request.is_apart > 1 ||
        arguments.size() > list_inline_max ||
        (request.is_apart != 0 && arguments.size() != sizeof(list::ApartPayload))) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber list = opened.list(request.list);
    if (list == 0) return {Code::stale, 0};
    const list::Payload payload{{arguments.data(), arguments.size()}, request.is_apart != 0};
    list::ApartPayload apart;
    if (request.is_apart != 0) std::memcpy(&apart, arguments.data(), sizeof apart);
    if (request.is_apart != 0 &&
        (process_of_apart(apart.address) >= context.space().segment().shape().procs ||
         !opened.lists().blocks().may_hold(apart.address, apart.bytes))) {
        return {Code::address, 0};
    }
    const heap::Offset block = opened.apart_here(apart.address);
    if (request.lent_to != NodeHeap::nobody && block == heap::no_block) return {Code::address, 0};
    NodeHeap::Borrowed borrowed(opened.heap(), block, request.lent_to);
    if (!borrowed.is_there()) return {Code::address, 0};
    borrowed.own();
    ListPlaced placed_at;
    placed_at.effect = opened.lists().with_room([&] {
        return request.is_front != 0 ? opened.lists()->push_front(list, payload, placed_at.at)
                                     : opened.lists()->insert(list, placed(list, request.before),
                                                              payload, placed_at.at);
    });
    if (placed_at.effect == ListEffect::done) borrowed.give_away();
    return told(result, placed_at);
}

Ran run_take(OperationContext& context, Arguments arguments, Result result) noexcept {
    ListTake request;
    if (!take(arguments, request) || !arguments.empty() || request.which > TakeWhich::last) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber list = opened.list(request.list);
    if (list == 0) return {Code::stale, 0};
    const std::uint64_t room =
        std::min<std::uint64_t>(request.room_bytes, result.size() - sizeof(ListTaken));
    request.at = placed(list, request.at);
    ListTaken taken =
        take_element(opened.lists(), list, request, result.data() + sizeof(ListTaken), room);
    const heap::Offset block = opened.apart_here(taken.apart);
    if (block != heap::no_block && opened.heap().lend_block(block, request.process))
        taken.lent_to = request.process;
    const bool has_bytes = taken.effect == ListEffect::done && taken.apart == 0;
    return told(result, taken, has_bytes ? std::min(room, taken.bytes) : 0);
}

Ran run_move(OperationContext& context, Arguments arguments, Result result) noexcept {
    ListMove request;
    if (!take(arguments, request) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber to = opened.list(request.to);
    const BlockNumber from = opened.list(request.from);
    if (to == 0 || from == 0) return {Code::stale, 0};
    ListPlaced moved;
    moved.effect = opened.lists()->move(to, placed(to, request.before), from,
                                        placed(from, request.element), moved.at);
    return told(result, moved);
}

// Writes the elements of a range into the result, as many as fit.
class RangeWriter {
public:
    RangeWriter(NodeLists& lists,
                BlockNumber list,
                const ListRange& request,
                Result result) noexcept
        : lists_(lists), list_(list), request_(request), result_(result) {}

    Ran run() noexcept {
        Position at = placed(list_, request_.from);
        while (head_.count < request_.count_max) {
            Position next;
            head_.effect = request_.is_backward != 0 ? lists_->previous(list_, at, next)
                                                     : lists_->next(list_, at, next);
            if (head_.effect != ListEffect::done) break;
            if (next.node == list_) {
                head_.is_end = 1;
                break;
            }
            const Added added = add(next);
            if (added == Added::full) break;
            if (added == Added::yes) at = next;  // otherwise it was taken out since: retry
        }
        return told(result_, head_, used_ - sizeof head_);
    }

private:
    enum class Added : std::uint8_t { yes, no, full };

    Added add(const Position& at) noexcept {
        ListRecord record{at, list::mark::bytes_in(at.mark), 0};
        const bool is_apart = list::mark::is_apart(at.mark);
        const std::uint64_t room =
            is_apart ? 0 : std::min<std::uint64_t>(request_.room_bytes, record.bytes);
        const std::uint64_t padded = (room + 7) / 8 * 8;
        if (result_.size() - used_ < sizeof record + padded) return Added::full;
        std::byte* const place = result_.data() + used_;
        const ListEffect effect = lists_->read(list_, at, [&](auto& node, std::uint64_t, bool) {
            if (!is_apart) return list::read_payload(node, place + sizeof record, room);
            list::ApartPayload apart;
            list::read_payload(node, &apart, sizeof apart);
            record.bytes = apart.bytes;
            record.apart = apart.address;
        });
        if (effect != ListEffect::done) return Added::no;
        std::memcpy(place, &record, sizeof record);
        used_ += sizeof record + padded;
        ++head_.count;
        return Added::yes;
    }

    NodeLists& lists_;
    BlockNumber list_;
    const ListRange& request_;
    Result result_;
    ListRangeHead head_;
    std::size_t used_ = sizeof(ListRangeHead);
};

Ran run_range(OperationContext& context, Arguments arguments, Result result) noexcept {
    ListRange request;
    if (!take(arguments, request) || !arguments.empty() || request.is_backward > 1) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber list = opened.list(request.list);
    if (list == 0) return {Code::stale, 0};
    return RangeWriter(opened.lists(), list, request, result).run();
}

Ran run_read(OperationContext& context, Arguments arguments, Result result) noexcept {
    ListReading request;
    if (!take(arguments, request) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber list = opened.list(request.list);
    if (list == 0) return {Code::stale, 0};
    const std::uint64_t room =
        std::min<std::uint64_t>(request.room_bytes, result.size() - sizeof(ListRead));
    const ListRead read = read_element(opened.lists(), list, placed(list, request.at),
                                       result.data() + sizeof(ListRead), room);
    return told(result, read, read.is_whole != 0 ? std::min(room, read.bytes) : 0);
}

Ran run_size(OperationContext& context, Arguments arguments, Result result) noexcept {
    GlobalAddress address = 0;
    if (!take(arguments, address) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber list = opened.list(address);
    if (list == 0) return {Code::stale, 0};
    return told(result, opened.lists()->size(list));
}

Ran run_gather(OperationContext& context, Arguments arguments, Result result) noexcept {
    GlobalAddress address = 0;
    if (!take(arguments, address) || arguments.empty() ||
        arguments.size() % sizeof(ListMember) != 0 ||
        arguments.size() > list_members_max * sizeof(ListMember)) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber to = opened.list(address);
    if (to == 0) return {Code::stale, 0};
    std::uint64_t moved = 0;
    for (ListMember member; take(arguments, member);) {
        const BlockNumber from = opened.list(member.list);
        if (from == 0) return {Code::stale, 0};
        Position now;
        if (opened.lists()->move(to, list::SharedLists<>::end_of(to), from, placed(from, member.at),
                                 now) == ListEffect::done) {
            ++moved;
        }
    }
    return told(result, moved);
}

// Counts the erased elements, and notes the blocks that the caller must free.
struct Eraser {
    Result result;
    ListErased told_of;

    void note(NodeLists& lists, const list::SharedLists<>::Taken& taken) noexcept {
        const std::uint64_t left = lists->settle(taken);
        ++told_of.erased;
        if (left != 0) note_left(left);
    }

    void note_left(std::uint64_t left) noexcept {
        std::memcpy(result.data() + sizeof told_of + told_of.left * sizeof left, &left,
                    sizeof left);
        ++told_of.left;
    }

    [[nodiscard]] Ran end() const noexcept {
        return told(result, told_of, told_of.left * sizeof(std::uint64_t));
    }
};

Ran run_erase(OperationContext& context, Arguments arguments, Result result) noexcept {
    GlobalAddress address = 0;
    if (!take(arguments, address) || arguments.empty() ||
        arguments.size() % sizeof(Position) != 0 ||
        arguments.size() > list_members_max * sizeof(Position)) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber list = opened.list(address);
    if (list == 0) return {Code::stale, 0};
    Eraser eraser{result, {}};
    for (Position at; take(arguments, at);) {
        list::SharedLists<>::Taken taken;
        if (opened.lists()->take(list, placed(list, at), taken) == ListEffect::done)
            eraser.note(opened.lists(), taken);
    }
    return eraser.end();
}

Ran run_clear(OperationContext& context, Arguments arguments, Result result) noexcept {
    ListClear request;
    if (!take(arguments, request) || !arguments.empty() || request.count_max > list_members_max) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber list = opened.list(request.list);
    if (list == 0) return {Code::stale, 0};
    Eraser eraser{result, {}};
    list::SharedLists<>::Taken taken;
    while (eraser.told_of.erased < request.count_max &&
           opened.lists()->take_first(list, taken) == ListEffect::done) {
        eraser.note(opened.lists(), taken);
    }
    return eraser.end();
}

Ran run_destroy(OperationContext& context, Arguments arguments, Result result) noexcept {
    GlobalAddress address = 0;
    if (!take(arguments, address) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber list = opened.list(address);
    if (list == 0) return {Code::stale, 0};
    Eraser eraser{result, {}};
    const ListEffect effect = opened.lists()->destroy(
        list, list_members_max, [&](std::uint64_t left) { eraser.note_left(left); });
    if (effect == ListEffect::more) eraser.told_of.erased = list_members_max;
    if (effect == ListEffect::done || effect == ListEffect::more) return eraser.end();
    return {effect == ListEffect::damaged ? Code::system : Code::stale, 0};
}

std::string places_of_list(Arguments arguments) {
    GlobalAddress address = 0;
    if (!take(arguments, address)) return "no list";
    return "the list is " + base::hex(address);
}

}  // namespace
}  // namespace list_calls

list::BlockNumber list_at(const local::Space& space,
                          std::uint32_t process,
                          memory::GlobalAddress address) noexcept {
    const heap::Offset offset = offset_in_heap(space, process, address);
    if (offset == heap::no_block || offset % heap::granule_bytes != 0) return 0;
    return list::number_of(offset);
}

ListTaken take_element(NodeLists& lists,
                       list::BlockNumber list,
                       const ListTake& request,
                       std::byte* to,
                       std::uint64_t room_bytes) {
    ListTaken told_of;
    list::SharedLists<>::Taken taken;
    switch (request.which) {
        case TakeWhich::first:
            told_of.effect = lists->take_first(list, taken);
            break;
        case TakeWhich::last:
            told_of.effect = lists->take_last(list, taken);
            break;
        case TakeWhich::at:
            told_of.effect = lists->take(list, request.at, taken);
            break;
    }
    if (told_of.effect != list::ListEffect::done) return told_of;
    told_of.bytes = taken.bytes;
    told_of.next = taken.next;
    if (!taken.is_apart) {
        lists->read_taken(taken, to, std::min(room_bytes, taken.bytes));
        (void)lists->settle(taken);
        return told_of;
    }
    list::ApartPayload apart;
    lists->read_taken(taken, &apart, sizeof apart);
    told_of.bytes = apart.bytes;
    const std::uint64_t wanted = std::min<std::uint64_t>(request.room_bytes, apart.bytes);
    const char* const bytes = lists.blocks().find_apart(apart.address, apart.bytes);
    const bool is_copied = wanted == 0 || (bytes != nullptr && wanted <= room_bytes);
    if (is_copied && wanted != 0) std::memcpy(to, bytes, wanted);
    told_of.apart = lists->settle(taken, !is_copied);
    return told_of;
}

ListRead read_element(NodeLists& lists,
                      list::BlockNumber list,
                      const list::Position& at,
                      std::byte* to,
                      std::uint64_t room_bytes) {
    ListRead told_of;
    told_of.effect = lists->read(list, at, [&](auto& node, std::uint64_t bytes, bool is_apart) {
        told_of.bytes = bytes;
        if (!is_apart) {
            told_of.place = lists.blocks().address_of(at.node);
            told_of.offset = list::ListNode<std::atomic>::head_bytes;
            told_of.is_whole = 1;
            return list::read_payload(node, to, std::min(bytes, room_bytes));
        }
        list::ApartPayload apart;
        list::read_payload(node, &apart, sizeof apart);
        told_of.bytes = apart.bytes;
        told_of.place = apart.address;
        const char* const found = lists.blocks().find_apart(apart.address, apart.bytes);
        told_of.is_whole = found != nullptr && apart.bytes <= room_bytes ? 1 : 0;
        if (told_of.is_whole != 0) std::memcpy(to, found, apart.bytes);
    });
    return told_of;
}

const std::array<local::NumberedOperation, list_operation_count>& list_operations() noexcept {
    constexpr std::uint32_t most = memory::invoke_bytes_max;
    static constexpr std::array<local::NumberedOperation, list_operation_count> rows{{
        {list_make_number, "making a list", sizeof(std::uint64_t), sizeof(memory::GlobalAddress),
         list_calls::run_make},
        {list_destroy_number, "destroying a list", sizeof(memory::GlobalAddress), most,
         list_calls::run_destroy, list_calls::places_of_list},
        {list_insert_number, "an insertion into a list", most, sizeof(ListPlaced),
         list_calls::run_insert, list_calls::places_of_list},
        {list_take_number, "taking an element of a list", sizeof(ListTake), most,
         list_calls::run_take, list_calls::places_of_list},
        {list_move_number, "moving an element of a list", sizeof(ListMove), sizeof(ListPlaced),
         list_calls::run_move, list_calls::places_of_list},
        {list_range_number, "looking through a list", sizeof(ListRange), most,
         list_calls::run_range, list_calls::places_of_list},
        {list_read_number, "reading an element of a list", sizeof(ListReading), most,
         list_calls::run_read, list_calls::places_of_list},
        {list_size_number, "asking for the size of a list", sizeof(memory::GlobalAddress),
         sizeof(std::uint64_t), list_calls::run_size, list_calls::places_of_list},
        {list_gather_number, "ordering a list", most, sizeof(std::uint64_t), list_calls::run_gather,
         list_calls::places_of_list},
        {list_erase_number, "erasing elements of a list", most, most, list_calls::run_erase,
         list_calls::places_of_list},
        {list_clear_number, "clearing a list", sizeof(ListClear), most, list_calls::run_clear,
         list_calls::places_of_list},
    }};
    return rows;
}

}  // namespace acp::allocator
