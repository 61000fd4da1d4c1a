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

// Takes the element out of its list by the thread's cache of that heap. Keeps the separate block of
// its bytes, which `old` gives back once the thread has returned its caches: freeing it takes a cache.
allocator::ListTaken ListMoving::take_here(OwnedLists& from,
                                           const Position& element,
                                           ReservedBlock& old) {
    NodeLists& lists = from.lists();
    allocator::ListTaken output;
    acp::list::SharedLists<>::Taken taken;
    const BlockNumber list = from.at(move_.element.list);
    output.effect = list != 0 ? lists->take(list, element, taken) : ListEffect::no_list;
    if (output.effect != ListEffect::done) return output;
    output.bytes = taken.bytes;
    output.next = taken.next;
    if (!taken.is_apart) {
        lists->read_taken(taken, move_.bytes.data(),
                          std::min<std::uint64_t>(taken.bytes, move_.bytes.size()));
        (void)lists->settle(taken);
        return output;
    }
    ApartPayload apart;
    lists->read_taken(taken, &apart, sizeof apart);
    output.bytes = apart.bytes;
    const std::uint64_t wanted = std::min<std::uint64_t>(apart.bytes, move_.bytes.size());
    const char* const found = lists.blocks().find_apart(apart.address, apart.bytes);
    if (found != nullptr && wanted != 0) std::memcpy(move_.bytes.data(), found, wanted);
    const std::uint64_t block = lists->settle(taken, true);
    if (found == nullptr) {
        output.apart = block;  // ListTaking reads and frees a block of another node
    } else if (block != 0) {
        old.set({calls_.names().address_of(block),
                 lists.blocks().lend_apart(block, gma_.space().process())});
    }
    return output;
}

// Takes the element out of its list.
//   from  its owner, if this thread has that, which it then loses
//   old   gives back the element's separate block at the end
Status ListMoving::take(std::optional<OwnedLists>& from, ReservedBlock& old) {
    ListTaking taking(gma_.space(), allocator_, calls_);
    Result<ListTaking::Taken> taken = ListTaking::Taken();
    if (!from) {
        taken = taking.take(move_.element, TakeWhich::at, move_.bytes);
    } else {
        auto element = calls_.names().position(move_.element);
        if (!element.is_ok()) return std::move(element).failure();
        const allocator::ListTaken output = take_here(*from, element.value(), old);
        from.reset();
        taken = taking.finish(move_.element, TakeWhich::at, output, move_.bytes);
    }
    if (!taken.is_ok()) return std::move(taken).failure();
    is_out_ = true;
    next_ = taken.value().next;
    return {};
}

// Writes the bytes into their block in another heap than the list's.
Status ListMoving::put_apart(const ReservedBlock& apart) {
    if (apart.block().address == 0 || move_.bytes.empty()) return {};
    return data::put(gma_, apart.block().address, move_.bytes.data(), move_.bytes.size());
}

// Reserves a node of the list, and a block of its heap for bytes that lie apart.
//   far  has that block already, if it is in another heap
ListEffect ListMoving::reserve(NodeLists& lists, const ReservedBlock& far, Reserved& reserved) {
    reserved.apart.bytes = move_.bytes.size();
    if (far.block().address != 0) {
        reserved.apart.address = calls_.names().apart_of(process_, far.block().address);
    } else if (is_apart_) {
        auto& made_apart = lists->made_apart();
        const ListEffect effect = lists.with_room([&] {
            reserved.memory = lists.blocks().allocate_apart(
                made_apart, home_, std::max<std::uint64_t>(move_.bytes.size(), 1));
            return reserved.memory != nullptr ? ListEffect::done : ListEffect::no_room;
        });
        if (effect != ListEffect::done) return effect;
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

// If both heaps are on this node, the thread borrows the cache of the lower process first, and borrows
// no third cache before it has returned these: threads cannot wait for each other in a circle. A
// participant of the new list owns the memory until the copy is linked; a block in a third heap is on
// loan until then. If this process is killed, recovery frees both. The caller writes the message about
// a full heap after this has returned the caches.
Result<ListPlaced> ListMoving::on_node() {
    const local::Space& space = gma_.space();
    auto to_heap = allocator_.heap_of(home_);
    if (!to_heap.is_ok()) return std::move(to_heap).failure();
    auto from_heap = allocator_.heap_of(from_home_);
    if (!from_heap.is_ok()) return std::move(from_heap).failure();
    ReservedBlock old(allocator_);
    ReservedBlock far(allocator_);  // the block of bytes in another heap than the list's
    if (process_ != home_) {
        const std::uint64_t bytes =
            std::max<std::uint64_t>(move_.bytes.size(), heap::OwnedBlocks::separate_least);
        auto made = calls_.block_apart(process_, bytes, space.is_on_node(process_));
        if (!made.is_ok()) return std::move(made).failure();
        far.set(made.value());
    }
    const memory::HazardLine* const line = gma_.hazards().free_line();
    const std::uint32_t thread =
        line != nullptr ? gma_.hazards().index_of(*line) : local::OperationContext::no_thread;
    std::optional<OwnedLists> from;
    const bool is_from_here = from_heap.value() != nullptr;
    if (is_from_here && from_home_ < home_) from.emplace(space, *from_heap.value(), thread);
    OwnedLists owned(space, *to_heap.value(), thread);
    if (is_from_here && from_home_ > home_) from.emplace(space, *from_heap.value(), thread);

    NodeLists& lists = owned.lists();
    ListPlaced placed;
    const BlockNumber list = owned.find(move_.before.list);
    placed.effect = list != 0 ? ListEffect::done : ListEffect::no_list;
    if (list == 0) return placed;
    Reserved reserved;
    placed.effect = reserve(lists, far, reserved);
    Status status;
    if (placed.effect == ListEffect::done) status = take(from, old);
    if (placed.effect == ListEffect::done && status.is_ok()) status = put_apart(far);
    if (placed.effect == ListEffect::done && status.is_ok()) {
        placed.effect = lists.blocks().own_apart(lists->made_apart(), reserved.apart.address,
                                                 far.block().process)
                            ? link(lists, list, reserved, placed)
                            : ListEffect::stale;
    }
    if (placed.effect == ListEffect::done && status.is_ok()) {
        far.give_away();
        return placed;
    }
    if (reserved.node != 0) lists->drop(reserved.node);
    if (lists->made_apart().load(std::memory_order_relaxed) != 0) {
        lists->drop_made_apart();
        far.give_away();
    }
    if (!status.is_ok()) return status;
    return placed;
}

Result<ListPlaced> ListMoving::by_gateway() {
    const ListNames& names = calls_.names();
    const std::uint64_t in_node = is_apart_ ? sizeof(ApartPayload) : move_.bytes.size();
    ReservedBlock old(allocator_);
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
    Status status = take(from, old);
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
