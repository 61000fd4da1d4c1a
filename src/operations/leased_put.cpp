// SPDX-License-Identifier: BSD-3-Clause
// Takes leases, and writes under them.
#include "operations/leased_put.hpp"

#include <cstddef>

#include "local/direct.hpp"
#include "node/wait.hpp"
#include "sync/lease_desk.hpp"

namespace acp::operations {

namespace {

using base::Code;
using local::OperationContext;

using Desk = sync::LeaseDesk<>;
using Line = sync::LeasedLine<>;

// The most leases of a desk.
constexpr std::uint32_t leases_max = 64;

template <typename T>
bool is_aligned(const std::byte* place) noexcept {
    return reinterpret_cast<std::uintptr_t>(place) % alignof(T) == 0;
}

// nullptr: there is no such object, and `code` says why.
template <typename T>
T* find(OperationContext& context, std::uint64_t address, Code& code) noexcept {
    std::byte* const place = context.find(address, sizeof(T));
    if (place == nullptr) {
        code = context.refusal();
    } else if (is_aligned<T>(place)) {
        return reinterpret_cast<T*>(place);
    } else {
        code = Code::alignment;
    }
    return nullptr;
}

void ring(const OperationContext& context) noexcept {
    const local::Space& space = context.space();
    node::ring_bell(space.segment().slot(space.slot_of(context.process())).door.waiter_bell);
}

TakenLease take_first_free(Line* lines, const TakeLease& wanted) noexcept {
    TakenLease taken;
    for (std::uint32_t i = 0; i < wanted.lines; ++i) {
        const std::uint32_t index = (wanted.first + i) % wanted.lines;
        const sync::LeaseState mine =
            sync::WriteLease<>(lines[index].words, index).take(wanted.holder);
        if (!mine.is_sound()) continue;
        taken.state = mine.word();
        taken.lease = index;
        taken.generation = mine.generation();
        break;
    }
    return taken;
}

// Where a put writes.
struct PutPlaces {
    Desk* desk = nullptr;
    Line* line = nullptr;
    std::byte* target = nullptr;
    std::atomic<std::uint64_t>* signal = nullptr;
};

Code find_places(OperationContext& context,
                 const LeasedPut& put,
                 std::uint64_t bytes,
                 PutPlaces& places) noexcept {
    Code code = Code::ok;
    places.desk = find<Desk>(context, put.desk, code);
    if (places.desk == nullptr) return code;
    places.line = find<Line>(context, put.line, code);
    if (places.line == nullptr) return code;
    places.signal = find<std::atomic<std::uint64_t>>(context, put.signal, code);
    if (places.signal == nullptr) return code;
    places.target = context.find(put.target, bytes);
    return places.target == nullptr ? context.refusal() : Code::ok;
}

}  // namespace

Code TakeFreeLease::check(const Call& call, const local::OwnerShape& /*shape*/) noexcept {
    const bool is_sound = call->lines != 0 && call->lines <= leases_max &&
                          call->holder <= sync::LeaseState::holder_max;
    return is_sound ? Code::ok : Code::argument;
}

Code TakeFreeLease::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    OperationContext& context = owner.context();
    const TakeLease& wanted = call.input;
    Code code = Code::ok;
    const auto* const word = find<std::atomic<std::uint64_t>>(context, wanted.desk_word, code);
    if (word == nullptr) return code;
    TakenLease& taken = reply.output;
    // acquire: the pool's memory is initialized; partner: the owner's publication
    const std::uint64_t address = word->load(std::memory_order_acquire);
    if (address != 0 && address % alignof(Desk) == 0) {
        Desk* const desk = find<Desk>(context, address, code);
        if (desk == nullptr) return code;
        std::byte* const lines =
            context.find(address + wanted.lines_offset, wanted.lines * sizeof(Line));
        if (lines == nullptr) return context.refusal();
        if (!is_aligned<Line>(lines)) return Code::alignment;
        taken = take_first_free(reinterpret_cast<Line*>(lines), wanted);
        if (taken.state == 0) {
            desk->wanted.store(1, std::memory_order_relaxed);  // ring() has a fence
            ring(context);
        }
    }
    taken.desk = address;
    return Code::ok;
}

Code PutUnderLease::check(const Call& call, const local::OwnerShape& /*shape*/) noexcept {
    return call->lease < leases_max && call->place != 0 ? Code::ok : Code::argument;
}

Code PutUnderLease::run(Owner& owner, const Call& call, Reply& /*reply*/) noexcept {
    OperationContext& context = owner.context();
    const LeasedPut& put = call.input;
    const local::Bytes bytes = call.tail;
    PutPlaces places;
    if (const Code code = find_places(context, put, bytes.size(), places); code != Code::ok)
        return code;
    sync::WriteLease<> lease(places.line->words, put.lease);
    auto& note = places.desk->gateway;
    switch (
        lease.enter({put.state, put.lease}, note, put.place, sync::WriteLease<>::Fence::by_each)) {
        case sync::LeaseEntry::open:
            break;
        case sync::LeaseEntry::not_now:
            return Code::timeout;
        case sync::LeaseEntry::revoked:
            return Code::stale;
    }
    if (!bytes.empty()) {
        local::move_bytes(reinterpret_cast<char*>(places.target),
                          reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    // seq_cst: ordered before the loads below; release: a thread that acquires the word sees the bytes
    if (put.write == LeasedWrite::set) {
        places.signal->exchange(put.value, std::memory_order_seq_cst);
    } else {
        places.signal->fetch_add(put.value, std::memory_order_seq_cst);
    }
    lease.leave_counting(note, put.units);
    if (places.line->is_watched.load(std::memory_order_seq_cst) == 0)
        places.desk->calls.fetch_or(std::uint64_t{1} << put.lease, std::memory_order_seq_cst);
    ring(context);
    return Code::ok;
}

}  // namespace acp::operations
