// SPDX-License-Identifier: BSD-3-Clause
// Reserves, takes, links: in this thread if the new list is on this node, else by its gateway.
#include "data/list_moving.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "data/ask.hpp"

namespace acp::data {

using acp::list::ApartPayload;
using acp::list::BlockNumber;
using acp::list::ListEffect;
using acp::list::PlainBytes;
using acp::list::Position;
using allocator::ListPlaced;
using allocator::NodeLists;
using allocator::OwnedLists;
using allocator::TakeWhich;
using base::Code;
using base::Result;
using base::Status;

// Finds where the copy lies. Bytes on the old list's process are stored on the new list's; other bytes stay on their process.
Status ListMoving::prepare() {
    const ListNames& names = calls_.names();
    auto from = names.home_of(move_.element.list);
    if (!from.is_ok()) return std::move(from).failure();
    auto to = names.home_of(move_.before.list);
    if (!to.is_ok()) return std::move(to).failure();
    auto before = names.position(move_.before);
    if (!before.is_ok()) return std::move(before).failure();
    from_home_ = from.value();
    home_ = to.value();
    before_ = before.value();
    process_ = move_.stored == from_home_ ? home_ : move_.stored;
    is_apart_ = process_ != home_ || move_.bytes.size() > allocator::list_inline_max;
    without_room_ = home_;
    return {};
}

Result<ListPlace> ListMoving::run() {
    Status status = prepare();
    if (!status.is_ok()) return status;
    auto placed = gma_.space().is_on_node(home_) ? on_node() : by_gateway();
    if (!placed.is_ok()) return std::move(placed).failure();
    const ListEffect effect = placed.value().effect;
    if (effect == ListEffect::no_room) return allocator_.no_room(without_room_, move_.bytes.size());
    if (effect != ListEffect::done) return calls_.names().failure(effect, move_.before);
    is_out_ = false;
    return calls_.names().place(move_.before.list, placed.value().at);
}

// Takes the element out of its list.   from  its owner, if this thread has that, which it then loses
Status ListMoving::take(std::optional<OwnedLists>& from) {
    ListTaking taking(gma_.space(), allocator_, calls_);
    Result<ListTaking::Taken> taken = ListTaking::Taken();
    if (!from) {
        taken = taking.take(move_.element, TakeWhich::at, move_.bytes);
    } else {
        auto asked = taking.request(move_.element, TakeWhich::at, move_.bytes.size());
        if (!asked.is_ok()) return std::move(asked).failure();
        allocator::ListTaken output;
        local::ResultTail tail(move_.bytes);
        allocator::TakeElement::Reply reply{output, tail};
        const Code code = allocator::TakeElement::run(*from, {asked.value(), {}}, reply);
        if (code != Code::ok) output.effect = ListEffect::no_list;
        from.reset();
        taken = taking.finish(move_.element, TakeWhich::at, output, move_.bytes);
    }
    if (!taken.is_ok()) return std::move(taken).failure();
    is_out_ = true;
    next_ = taken.value().next;
    return {};
}

// Writes the bytes into a block on another node.
Status ListMoving::put_apart(const ReservedBlock& apart) {
    if (apart.block().address == 0 || move_.bytes.empty()) return {};
    return data::put(gma_, apart.block().address, move_.bytes.data(), move_.bytes.size());
}

// Reserves a node of the list, and a block of this node's heaps for bytes that lie apart.
//   far  has the block already, if it is on another node
ListEffect ListMoving::reserve(NodeLists& lists, const ReservedBlock& far, Reserved& reserved) {
    reserved.apart.bytes = move_.bytes.size();
    if (far.block().address != 0) {
        reserved.apart.address = calls_.names().apart_of(process_, far.block().address);
    } else if (is_apart_) {
        auto& made_apart = lists->made_apart();
        const ListEffect effect = lists.with_room([&] {
            reserved.memory = lists.blocks().allocate_apart(
                made_apart, process_, std::max<std::uint64_t>(move_.bytes.size(), 1));
            return reserved.memory != nullptr ? ListEffect::done : ListEffect::no_room;
        });
        if (effect != ListEffect::done) {
            without_room_ = process_;
            return effect;
        }
        reserved.apart.address = made_apart.load(std::memory_order_relaxed);
    }
    const std::uint64_t in_node = is_apart_ ? sizeof(ApartPayload) : move_.bytes.size();
    return lists.with_room([&] {
        reserved.node = lists->reserve(in_node, is_apart_);
        return reserved.node != 0 ? ListEffect::done : ListEffect::no_room;
    });
}

// Writes the bytes that were taken, and links the node.
ListEffect ListMoving::link(NodeLists& lists,
                            BlockNumber list,
                            const Reserved& reserved,
                            ListPlaced& placed) {
    if (reserved.memory != nullptr && !move_.bytes.empty())
        std::memcpy(reserved.memory, move_.bytes.data(), move_.bytes.size());
    lists->fill(reserved.node, is_apart_ ? PlainBytes{&reserved.apart, sizeof reserved.apart}
                                         : PlainBytes{move_.bytes.data(), move_.bytes.size()});
    const Position end = lists->end_of(list);
    const Position& before = before_.node == 0 ? end : before_;
    const ListEffect effect = lists->link(reserved.node, list, before, placed.at);
    return effect == ListEffect::stale ? lists->link(reserved.node, list, end, placed.at) : effect;
}

// Holds the caches of both heaps, if both are on this node, in the order of their processes: so no
// two threads wait for each other's. The memory belongs to a participant of the new list until the
// copy is linked: if this process is killed, recovery frees it. If there is no room the caller
// writes the message after this has returned the caches.
Result<ListPlaced> ListMoving::on_node() {
    const local::Space& space = gma_.space();
    auto heap = allocator_.heap_of(home_);
    if (!heap.is_ok()) return std::move(heap).failure();
    auto from_heap = allocator_.heap_of(from_home_);
    if (!from_heap.is_ok()) return std::move(from_heap).failure();
    ReservedBlock far(allocator_);
    if (is_apart_ && !space.is_on_node(process_)) {
        auto made = calls_.block_apart(process_, move_.bytes.size(), false);
        if (!made.is_ok()) return std::move(made).failure();
        far.set(made.value());
    }
    const memory::HazardLine* const line = gma_.hazards().free_line();
    const std::uint32_t thread =
        line != nullptr ? gma_.hazards().index_of(*line) : local::OperationContext::gateway_thread;
    std::optional<OwnedLists> from;
    const bool is_from_here = from_heap.value() != nullptr;
    if (is_from_here && from_home_ < home_) from.emplace(space, *from_heap.value(), thread);
    OwnedLists owned(space, *heap.value(), thread);
    if (is_from_here && from_home_ > home_) from.emplace(space, *from_heap.value(), thread);

    NodeLists& lists = owned.lists();
    ListPlaced placed;
    const BlockNumber list = owned.find(move_.before.list);
    placed.effect = list != 0 ? ListEffect::done : ListEffect::no_list;
    if (list == 0) return placed;
    Reserved reserved;
    placed.effect = reserve(lists, far, reserved);
    Status status;
    if (placed.effect == ListEffect::done) status = take(from);
    if (placed.effect == ListEffect::done && status.is_ok()) status = put_apart(far);
    if (placed.effect == ListEffect::done && status.is_ok())
        placed.effect = link(lists, list, reserved, placed);
    if (placed.effect == ListEffect::done && status.is_ok()) {
        far.give_away();
        return placed;
    }
    if (reserved.node != 0) lists->drop(reserved.node);
    if (reserved.memory != nullptr) lists->drop_made_apart();
    if (!status.is_ok()) return status;
    return placed;
}

Result<ListPlaced> ListMoving::by_gateway() {
    const ListNames& names = calls_.names();
    const std::uint64_t in_node = is_apart_ ? sizeof(ApartPayload) : move_.bytes.size();
    ReservedBlock node(allocator_);
    ReservedBlock apart(allocator_);
    auto reserved = calls_.run_at<allocator::ReserveNode>(
        home_, {move_.before.list, before_, in_node, gma_.space().process()});
    if (!reserved.is_ok()) return std::move(reserved).failure();
    ListPlaced placed;
    placed.effect = reserved.value().output.effect;
    if (placed.effect != ListEffect::done) return placed;
    node.set(reserved.value().output.node);
    if (is_apart_) {
        auto made = calls_.block_apart(process_, move_.bytes.size(), process_ == home_);
        if (!made.is_ok()) return std::move(made).failure();
        apart.set(made.value());
    }
    std::optional<OwnedLists> from;
    Status status = take(from);
    if (status.is_ok()) status = put_apart(apart);
    if (!status.is_ok()) return status;
    const ApartPayload payload{is_apart_ ? names.apart_of(process_, apart.block().address) : 0,
                               move_.bytes.size()};
    allocator::ListInsert request{move_.before.list,
                                  before_,
                                  0,
                                  is_apart_ ? 1U : 0U,
                                  apart.block().process,
                                  node.block().address,
                                  node.block().process};
    for (bool is_again = false;; is_again = true, request.before = {}) {
        auto inserted = calls_.run_at<allocator::InsertElement>(
            home_, request, is_apart_ ? wire_of(payload) : std::as_bytes(move_.bytes));
        if (!inserted.is_ok()) return std::move(inserted).failure();
        placed = inserted.value().output;
        if (placed.effect != ListEffect::stale || is_again) break;
    }
    if (placed.effect == ListEffect::done) {
        node.give_away();
        apart.give_away();
    }
    return placed;
}

}  // namespace acp::data
