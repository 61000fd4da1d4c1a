// SPDX-License-Identifier: BSD-3-Clause
// Takes leases, and writes under them.
#include "operations/leased_put.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#include "local/direct.hpp"
#include "node/wait.hpp"
#include "sync/lease_desk.hpp"

namespace acp::operations {

namespace {

using base::Code;
using local::NumberedOperation;
using local::OperationContext;

using Desk = sync::LeaseDesk<>;
using Line = sync::LeasedLine<>;

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

NumberedOperation::Ran take_lease(OperationContext& context,
                                  std::span<const std::byte> arguments,
                                  std::span<std::byte> result) noexcept {
    TakeLease wanted;
    if (arguments.size() != sizeof wanted) return {Code::argument, 0};
    std::memcpy(&wanted, arguments.data(), sizeof wanted);
    if (wanted.lines == 0 || wanted.lines > 64 || wanted.holder > sync::LeaseState::holder_max)
        return {Code::argument, 0};
    Code code = Code::ok;
    const auto* const word = find<std::atomic<std::uint64_t>>(context, wanted.desk_word, code);
    if (word == nullptr) return {code, 0};
    TakenLease taken;
    // acquire: the pool's memory is initialized; partner: the owner's publication
    const std::uint64_t address = word->load(std::memory_order_acquire);
    if (address != 0 && address % alignof(Desk) == 0) {
        Desk* const desk = find<Desk>(context, address, code);
        if (desk == nullptr) return {code, 0};
        std::byte* const lines =
            context.find(address + wanted.lines_offset, wanted.lines * sizeof(Line));
        if (lines == nullptr) return {context.refusal(), 0};
        if (!is_aligned<Line>(lines)) return {Code::alignment, 0};
        taken = take_first_free(reinterpret_cast<Line*>(lines), wanted);
        if (taken.state == 0) {
            desk->wanted.store(1, std::memory_order_relaxed);  // ring() has a fence
            ring(context);
        }
    }
    taken.desk = address;
    std::memcpy(result.data(), &taken, sizeof taken);
    return {Code::ok, sizeof taken};
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

NumberedOperation::Ran leased_put(OperationContext& context,
                                  std::span<const std::byte> arguments,
                                  std::span<std::byte> /*result*/) noexcept {
    LeasedPut put;
    if (arguments.size() < sizeof put) return {Code::argument, 0};
    std::memcpy(&put, arguments.data(), sizeof put);
    if (put.lease >= 64 || put.place == 0) return {Code::argument, 0};
    const std::span<const std::byte> bytes = arguments.subspan(sizeof put);
    PutPlaces places;
    if (const Code code = find_places(context, put, bytes.size(), places); code != Code::ok)
        return {code, 0};
    sync::WriteLease<> lease(places.line->words, put.lease);
    auto& note = places.desk->gateway;
    switch (
        lease.enter({put.state, put.lease}, note, put.place, sync::WriteLease<>::Fence::by_each)) {
        case sync::LeaseEntry::open:
            break;
        case sync::LeaseEntry::not_now:
            return {Code::timeout, 0};
        case sync::LeaseEntry::revoked:
            return {Code::stale, 0};
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
    return {};
}

constexpr std::array leased_rows{
    NumberedOperation{take_lease_number, "the first message of a PM context", sizeof(TakeLease),
                      sizeof(TakenLease), take_lease, nullptr},
    NumberedOperation{leased_put_number, "a message of a PM context", memory::invoke_bytes_max, 0,
                      leased_put, nullptr},
};

}  // namespace

std::span<const NumberedOperation> leased_put_operations() noexcept {
    return leased_rows;
}

}  // namespace acp::operations
