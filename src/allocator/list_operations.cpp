// SPDX-License-Identifier: BSD-3-Clause
// The checks of requests, and their execution on a list.
#include "allocator/list_operations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/format.hpp"

#include "allocator/heap_operations.hpp"

namespace acp::allocator {

using base::Code;
using list::BlockNumber;
using list::ListEffect;
using list::Position;
using local::Bytes;
using local::OwnerShape;
using local::ResultTail;
using memory::GlobalAddress;

namespace {

Code sound_if(bool is_sound) noexcept {
    return is_sound ? Code::ok : Code::argument;
}

Position position_in(BlockNumber list, const Position& at) noexcept {
    return at.node == 0 ? list::SharedLists<>::end_of(list) : at;
}

list::ApartPayload apart_in(Bytes tail) noexcept {
    list::ApartPayload apart;
    std::memcpy(&apart, tail.data(), sizeof apart);
    return apart;
}

// Copies the first bytes of an element into the tail of a reply, as many as fit.
template <typename Copy>
void copy_first(ResultTail& into, std::uint64_t bytes, const Copy& copy) noexcept {
    const std::uint64_t some = std::min<std::uint64_t>(bytes, into.room().size());
    if (some == 0) return;
    copy(into.room().data(), some);
    into.advance(some);
}

// Counts an erased element, and writes the address of its block if the caller must free that.
void note_erased(NodeLists& lists,
                 const list::SharedLists<>::Taken& taken,
                 local::OperationReply<ListErased>& reply) noexcept {
    const std::uint64_t block = lists->settle(taken);
    ++reply->erased;
    if (block != 0 && reply.tail.add(block)) ++reply->left;
}

}  // namespace

BlockNumber list_at(const local::Space& space,
                    std::uint32_t process,
                    GlobalAddress address) noexcept {
    const heap::Offset offset = offset_in_heap(space, process, address);
    if (offset == heap::no_block || offset % heap::granule_bytes != 0) return 0;
    return list::number_of(offset);
}

std::string list_named(GlobalAddress list) {
    return "the list is " + base::hex(list);
}

Code MakeList::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    BlockNumber made = 0;
    (void)owner.lists().with_room([&] {
        made = owner.lists()->make(call->maker);
        return made != 0 ? ListEffect::done : ListEffect::no_room;
    });
    owner.lists()->keep();
    if (made != 0) reply->list = owner.address_of(made);
    return Code::ok;
}

Code InsertElement::check_fields(const Call& call, const OwnerShape& shape) noexcept {
    if (call->is_front > 1 || call->is_apart > 1) return Code::argument;
    if (call->is_front != 0 && call->node != 0) return Code::argument;
    if (call->is_apart == 0) return Code::ok;
    if (call.tail.size() != sizeof(list::ApartPayload)) return Code::argument;
    return process_of_apart(apart_in(call.tail).address) < shape.procs ? Code::ok : Code::address;
}

namespace {

// Inserts an element whose node is a block on loan. The caller names the block, which therefore must
// be one of the program: a block of a container is refused.
Code insert_lent(OwnedLists& owner,
                 BlockNumber list,
                 const InsertElement::Call& call,
                 const list::Payload& payload,
                 InsertElement::Reply& reply) noexcept {
    const heap::Offset block = owner.block_at(call->node);
    if (block == heap::no_block || block % heap::granule_bytes != 0) return Code::address;
    NodeHeap& heap = owner.heap();
    NodeHeap::Borrowed borrowed(heap, block, call->node_lent_to);
    const std::uint64_t bytes = payload.bytes.count;
    if (!borrowed.is_there() || heap.usable_bytes(block) < list::SharedLists<>::node_bytes(bytes))
        return Code::address;
    heap.own(block);
    NodeLists& lists = owner.lists();
    const BlockNumber node = list::number_of(block);
    lists->adopt(node, bytes, payload.is_apart);
    lists->fill(node, payload.bytes);
    reply->effect = lists->link(node, list, position_in(list, call->before), reply->at);
    if (reply->effect == ListEffect::done) {
        borrowed.give_away();
    } else {
        lists->disown();
        heap.disown(block);
    }
    return Code::ok;
}

}  // namespace

Code InsertElement::on(Owner& owner, List list, const Call& call, Reply& reply) noexcept {
    NodeLists& lists = owner.lists();
    const list::ApartPayload apart =
        call->is_apart != 0 ? apart_in(call.tail) : list::ApartPayload{};
    if (call->is_apart != 0) {
        if (!lists->is_list(list)) return Code::stale;
        if (!lists.blocks().may_hold(apart.address, apart.bytes)) return Code::address;
    }
    const heap::Offset block = owner.apart_here(apart.address);
    if (call->lent_to != NodeHeap::nobody && block == heap::no_block) return Code::address;
    NodeHeap::Borrowed borrowed(owner.heap(), block, call->lent_to);
    if (!borrowed.is_there()) return Code::address;
    borrowed.own();
    const list::Payload payload{{call.tail.data(), call.tail.size()}, call->is_apart != 0};
    if (call->node != 0) {
        const Code code = insert_lent(owner, list, call, payload, reply);
        if (code != Code::ok) return code;
    } else {
        reply->effect = lists.with_room([&] {
            return call->is_front != 0
                       ? lists->push_front(list, payload, reply->at)
                       : lists->insert(list, position_in(list, call->before), payload, reply->at);
        });
    }
    if (reply->effect == ListEffect::done) borrowed.give_away();
    return Code::ok;
}

Code ReserveNode::check_fields(const Call& call, const OwnerShape& /*shape*/) noexcept {
    return sound_if(call->bytes <= list_inline_max);
}

Code ReserveNode::on(Owner& owner, List list, const Call& call, Reply& reply) noexcept {
    reply->effect = owner.lists()->find(list, position_in(list, call->before));
    if (reply->effect != ListEffect::done) return Code::ok;
    reply->node.process = call->process;
    const BlockNumber node = owner.lists().blocks().lend_node(
        list::SharedLists<>::node_bytes(call->bytes), reply->node.process);
    if (node != 0) {
        reply->node.address = owner.address_of(node);
    } else {
        reply->effect = ListEffect::no_room;
    }
    return Code::ok;
}

Code TakeElement::check_fields(const Call& call, const OwnerShape& /*shape*/) noexcept {
    return sound_if(call->which <= TakeWhich::last);
}

Code TakeElement::on(Owner& owner, List list, const Call& call, Reply& reply) noexcept {
    NodeLists& lists = owner.lists();
    list::SharedLists<>::Taken taken;
    switch (call->which) {
        case TakeWhich::first:
            reply->effect = lists->take_first(list, taken);
            break;
        case TakeWhich::last:
            reply->effect = lists->take_last(list, taken);
            break;
        case TakeWhich::at:
            reply->effect = lists->take(list, position_in(list, call->at), taken);
            break;
    }
    if (reply->effect != ListEffect::done) return Code::ok;
    reply->bytes = taken.bytes;
    reply->next = taken.next;
    if (!taken.is_apart) {
        copy_first(reply.tail, std::min(call->room_bytes, taken.bytes),
                   [&](std::byte* to, std::uint64_t some) { lists->read_taken(taken, to, some); });
        (void)lists->settle(taken);
        return Code::ok;
    }
    list::ApartPayload apart;
    lists->read_taken(taken, &apart, sizeof apart);
    reply->bytes = apart.bytes;
    const std::uint64_t wanted = std::min<std::uint64_t>(call->room_bytes, apart.bytes);
    const char* const found = lists.blocks().find_apart(apart.address, apart.bytes);
    const bool is_copied = wanted == 0 || (found != nullptr && wanted <= reply.tail.room().size());
    if (is_copied) {
        copy_first(reply.tail, wanted,
                   [&](std::byte* to, std::uint64_t some) { std::memcpy(to, found, some); });
    }
    reply->apart = lists->settle(taken, !is_copied);
    const heap::Offset block = owner.apart_here(reply->apart);
    if (block != heap::no_block && owner.heap().lend_block(block, call->process))
        reply->lent_to = call->process;
    return Code::ok;
}

Code MoveElement::on(Owner& owner, List to, const Call& call, Reply& reply) noexcept {
    const BlockNumber from = owner.find(call->from);
    if (from == 0) return Code::stale;
    reply->effect = owner.lists()->move(to, position_in(to, call->before), from,
                                        position_in(from, call->element), reply->at);
    return Code::ok;
}

Code FindNeighbour::check_fields(const Call& call, const OwnerShape& /*shape*/) noexcept {
    return sound_if(call->is_backward <= 1);
}

Code FindNeighbour::on(Owner& owner, List list, const Call& call, Reply& reply) noexcept {
    const Position from = position_in(list, call->from);
    reply->effect = call->is_backward != 0 ? owner.lists()->previous(list, from, reply->at)
                                           : owner.lists()->next(list, from, reply->at);
    return Code::ok;
}

Code ReadRange::check_fields(const Call& call, const OwnerShape& /*shape*/) noexcept {
    return sound_if(call->is_backward <= 1);
}

namespace {

// Writes the elements of a range into the reply, as many as fit.
class RangeWriter {
public:
    RangeWriter(NodeLists& lists,
                BlockNumber list,
                const ListRange& request,
                local::OperationReply<ListRangeHead>& reply) noexcept
        : lists_(lists),
          list_(list),
          request_(request),
          result_(reply.output),
          elements_(reply.tail) {}

    void run() noexcept {
        Position at = position_in(list_, request_.from);
        while (result_.count < request_.count_max) {
            Position next;
            result_.effect = request_.is_backward != 0 ? lists_->previous(list_, at, next)
                                                       : lists_->next(list_, at, next);
            if (result_.effect != ListEffect::done) break;
            if (next.node == list_) {
                result_.is_end = 1;
                break;
            }
            const Added added = add(next);
            if (added == Added::full) break;
            if (added == Added::yes) at = next;  // otherwise it was taken out since: retry
        }
    }

private:
    enum class Added : std::uint8_t { yes, no, full };

    Added add(const Position& at) noexcept {
        ListRecord record{at, list::mark::bytes_in(at.mark), 0};
        const bool is_apart = list::mark::is_apart(at.mark);
        const std::uint64_t room =
            is_apart ? 0 : std::min<std::uint64_t>(request_.room_bytes, record.bytes);
        const std::uint64_t padded = (room + 7) / 8 * 8;
        if (elements_.room().size() < sizeof record + padded) return Added::full;
        std::byte* const place = elements_.room().data();
        const ListEffect effect = lists_->read(list_, at, [&](auto& node, std::uint64_t, bool) {
            if (!is_apart) return list::read_payload(node, place + sizeof record, room);
            list::ApartPayload apart;
            list::read_payload(node, &apart, sizeof apart);
            record.bytes = apart.bytes;
            record.apart = apart.address;
        });
        if (effect != ListEffect::done) return Added::no;
        std::memcpy(place, &record, sizeof record);
        elements_.advance(sizeof record + padded);
        ++result_.count;
        return Added::yes;
    }

    NodeLists& lists_;
    BlockNumber list_;
    const ListRange& request_;
    ListRangeHead& result_;
    ResultTail& elements_;
};

}  // namespace

Code ReadRange::on(Owner& owner, List list, const Call& call, Reply& reply) noexcept {
    RangeWriter(owner.lists(), list, call.input, reply).run();
    return Code::ok;
}

Code ReadElement::on(Owner& owner, List list, const Call& call, Reply& reply) noexcept {
    NodeLists& lists = owner.lists();
    const std::uint64_t room = std::min<std::uint64_t>(call->room_bytes, reply.tail.room().size());
    std::uint64_t copied = 0;
    const Position at = position_in(list, call->at);
    reply->effect = lists->read(list, at, [&](auto& node, std::uint64_t size, bool is_apart) {
        reply->bytes = size;
        if (!is_apart) {
            reply->place = lists.blocks().address_of(at.node);
            reply->offset = list::ListNode<std::atomic>::head_bytes;
            reply->is_whole = 1;
            copied = std::min(size, room);
            return list::read_payload(node, reply.tail.room().data(), copied);
        }
        list::ApartPayload apart;
        list::read_payload(node, &apart, sizeof apart);
        reply->bytes = apart.bytes;
        reply->place = apart.address;
        const char* const found = lists.blocks().find_apart(apart.address, apart.bytes);
        reply->is_whole = found != nullptr && apart.bytes <= room ? 1 : 0;
        if (reply->is_whole == 0) return;
        copied = apart.bytes;
        std::memcpy(reply.tail.room().data(), found, copied);
    });
    reply.tail.advance(copied);
    return Code::ok;
}

Code CountElements::on(Owner& owner, List list, const Call& /*call*/, Reply& reply) noexcept {
    reply->elements = owner.lists()->size(list);
    return Code::ok;
}

Code GatherElements::check_fields(const Call& call, const OwnerShape& /*shape*/) noexcept {
    return sound_if(local::TailOf<ListMember>(call.tail).is_sound(1, list_members_max));
}

Code GatherElements::on(Owner& owner, List to, const Call& call, Reply& reply) noexcept {
    const local::TailOf<ListMember> members(call.tail);
    for (std::size_t i = 0; i < members.size(); ++i) {
        const ListMember member = members[i];
        const BlockNumber from = owner.find(member.list);
        if (from == 0) return Code::stale;
        Position now;
        const ListEffect effect = owner.lists()->move(to, list::SharedLists<>::end_of(to), from,
                                                      position_in(from, member.at), now);
        reply->elements += effect == ListEffect::done ? 1 : 0;
    }
    return Code::ok;
}

Code EraseElements::check_fields(const Call& call, const OwnerShape& /*shape*/) noexcept {
    return sound_if(local::TailOf<Position>(call.tail).is_sound(1, list_members_max));
}

Code EraseElements::on(Owner& owner, List list, const Call& call, Reply& reply) noexcept {
    const local::TailOf<Position> positions(call.tail);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        list::SharedLists<>::Taken taken;
        if (owner.lists()->take(list, position_in(list, positions[i]), taken) == ListEffect::done)
            note_erased(owner.lists(), taken, reply);
    }
    return Code::ok;
}

Code ClearList::check_fields(const Call& call, const OwnerShape& /*shape*/) noexcept {
    return sound_if(call->count_max <= list_members_max);
}

Code ClearList::on(Owner& owner, List list, const Call& call, Reply& reply) noexcept {
    list::SharedLists<>::Taken taken;
    while (reply->erased < call->count_max &&
           owner.lists()->take_first(list, taken) == ListEffect::done) {
        note_erased(owner.lists(), taken, reply);
    }
    return Code::ok;
}

Code DestroyList::on(Owner& owner, List list, const Call& /*call*/, Reply& reply) noexcept {
    const ListEffect effect =
        owner.lists()->destroy(list, list_members_max, [&](std::uint64_t block) {
            if (reply.tail.add(block)) ++reply->left;
        });
    if (effect == ListEffect::more) reply->erased = list_members_max;
    if (effect == ListEffect::done || effect == ListEffect::more) return Code::ok;
    return effect == ListEffect::damaged ? Code::system : Code::stale;
}

}  // namespace acp::allocator
