// SPDX-License-Identifier: BSD-3-Clause
// Takes elements out, copies them, and puts back those that cannot be copied.
#include "data/list_taking.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace acp::data {

using acp::list::ApartPayload;
using acp::list::ListEffect;
using allocator::ListInsert;
using allocator::ListTaken;
using allocator::TakeWhich;
using base::Result;
using base::Status;

Result<allocator::ListTake> ListTaking::request(const ListPlace& at,
                                                TakeWhich which,
                                                std::uint64_t room_bytes) const {
    auto element = names_.position(at);
    if (!element.is_ok()) return std::move(element).failure();
    return allocator::ListTake{at.list, element.value(), which, room_bytes, space_.process()};
}

Result<ListTaking::Taken> ListTaking::take(const ListPlace& at,
                                           TakeWhich which,
                                           std::span<std::byte> room) {
    auto asked = request(at, which, room.size());
    if (!asked.is_ok()) return std::move(asked).failure();
    auto returned = calls_.run<allocator::TakeElement>(asked.value(), {}, room);
    if (!returned.is_ok()) return std::move(returned).failure();
    return finish(at, which, returned.value().output, room);
}

Result<ListTaking::Taken> ListTaking::finish(const ListPlace& at,
                                             TakeWhich which,
                                             const ListTaken& taken,
                                             std::span<std::byte> room) {
    if (taken.effect == ListEffect::end && which != TakeWhich::at) return Taken{};
    if (taken.effect != ListEffect::done) return names_.failure(taken.effect, at);
    if (taken.apart != 0) [[unlikely]] {
        auto status = fetch(at.list, which, taken, room);
        if (!status.is_ok()) return status;
    }
    return Taken{true, taken.bytes, names_.place(at.list, taken.next)};
}

// Copies the bytes of an element that was taken out, and frees their block.
Status ListTaking::fetch(GlobalAddress list,
                         TakeWhich which,
                         const ListTaken& taken,
                         std::span<std::byte> room) {
    const GlobalAddress block = names_.address_of(taken.apart);
    auto status = calls_.get(room.data(), block, std::min<std::uint64_t>(room.size(), taken.bytes));
    if (!status.is_ok() && put_back(list, which, taken)) {
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
bool ListTaking::put_back(GlobalAddress list, TakeWhich which, const ListTaken& taken) {
    ListInsert request;
    request.list = list;
    request.is_front = which == TakeWhich::first ? 1 : 0;
    request.is_apart = 1;
    request.lent_to = taken.lent_to;
    if (which == TakeWhich::at) request.before = taken.next;
    const ApartPayload payload{taken.apart, taken.bytes};
    for (int i = 0; i < 2; ++i, request.before = {}) {
        const auto returned = calls_.run<allocator::InsertElement>(request, wire_of(payload));
        if (!returned.is_ok()) return false;
        const ListEffect effect = returned.value().output.effect;
        if (effect != ListEffect::stale) return effect == ListEffect::done;
    }
    return false;
}

}  // namespace acp::data
