// SPDX-License-Identifier: BSD-3-Clause
// Takes elements out, copies them, and puts back those that cannot be copied.
#include "data/list_taking.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "data/operation_message.hpp"

namespace acp::data {

using acp::list::ApartPayload;
using acp::list::ListEffect;
using allocator::ListInsert;
using allocator::ListPlaced;
using allocator::ListTaken;
using allocator::TakeWhich;
using base::Result;
using base::Status;

Result<ListTaking::Taken> ListTaking::take(const ListPlace& at,
                                           TakeWhich which,
                                           std::span<std::byte> room) {
    auto home = names_.home_of(at.list);
    if (!home.is_ok()) return std::move(home).failure();
    auto heap = allocator_.heap_of(home.value());
    if (!heap.is_ok()) return std::move(heap).failure();
    auto element = names_.position(at);
    if (!element.is_ok()) return std::move(element).failure();
    const local::Space& space = gma_.space();
    allocator::ListTake request{at.list, element.value(), which, room.size(), space.process()};
    ListTaken taken;
    if (heap.value() != nullptr) {
        local::Hazards::Lease lease(gma_.hazards());
        allocator::NodeLists lists(*heap.value(), gma_.hazards().index_of(lease.line()));
        const acp::list::BlockNumber list = allocator::list_at(space, home.value(), at.list);
        if (request.at.node == 0) request.at = lists->end_of(list);
        taken.effect = ListEffect::no_list;
        if (list != 0)
            taken = allocator::take_element(lists, list, request, room.data(), room.size());
    } else {
        auto status = take_there(request, home.value(), taken, room);
        if (!status.is_ok()) return status;
    }
    if (taken.effect == ListEffect::end && which != TakeWhich::at) return Taken{};
    if (taken.effect != ListEffect::done) return names_.failure(taken.effect, at);
    if (taken.apart != 0) [[unlikely]] {
        auto status = fetch(home.value(), at.list, which, taken, room);
        if (!status.is_ok()) return status;
    }
    return Taken{true, taken.bytes, names_.place(at.list, taken.next)};
}

Status ListTaking::take_there(const allocator::ListTake& request,
                              std::uint32_t home,
                              ListTaken& taken,
                              std::span<std::byte> room) {
    OperationRoom result;
    auto told = asks_.ask(request.list, home, allocator::list_take_number,
                          OperationMessage().add(request).bytes(), result);
    if (!told.is_ok()) return std::move(told).failure();
    taken = value_in<ListTaken>(result);
    const std::size_t bytes =
        std::min<std::size_t>(told.value() - sizeof taken, request.room_bytes);
    if (bytes != 0) std::memcpy(room.data(), result.data() + sizeof taken, bytes);
    return {};
}

// Copies the bytes of an element that was taken out, and frees their block.
Status ListTaking::fetch(std::uint32_t home,
                         GlobalAddress list,
                         TakeWhich which,
                         const ListTaken& taken,
                         std::span<std::byte> room) {
    const GlobalAddress block = names_.address_of(taken.apart);
    auto status = asks_.get(room.data(), block, std::min<std::uint64_t>(room.size(), taken.bytes));
    if (!status.is_ok() && put_back(home, list, which, taken)) {
        return std::move(status).within(
            "the element stays in the list, for its bytes cannot be read");
    }
    allocator_.give_back({block, taken.lent_to});
    if (status.is_ok()) return status;
    return std::move(status).within(
        "the element is lost, for its bytes cannot be read, nor is there room to put it back");
}

// Inserts the element again at its old place, with the block of its bytes; at the end if its
// successor was taken out since. false: there is no room for it, or no list.
bool ListTaking::put_back(std::uint32_t home,
                          GlobalAddress list,
                          TakeWhich which,
                          const ListTaken& taken) {
    ListInsert request;
    request.list = list;
    request.is_front = which == TakeWhich::first ? 1 : 0;
    request.is_apart = 1;
    request.lent_to = taken.lent_to;
    if (which == TakeWhich::at) request.before = taken.next;
    const ApartPayload payload{taken.apart, taken.bytes};
    ListPlaced placed;
    for (int i = 0; i < 2; ++i, request.before = {}) {
        const auto told = asks_.ask(list, home, allocator::list_insert_number,
                                    OperationMessage().add(request).add(payload).bytes(),
                                    std::as_writable_bytes(std::span(&placed, 1)));
        if (!told.is_ok()) return false;
        if (placed.effect != ListEffect::stale) break;
    }
    return placed.effect == ListEffect::done;
}

}  // namespace acp::data
