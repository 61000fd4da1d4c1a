// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes of bytes, and the delivery of completions. Commands: local_placement_run.cpp.
#include "engine/local_placement.hpp"

#include <utility>

#include "base/assert.hpp"
#include "local/direct.hpp"
#include "node/death.hpp"
#include "node/word_sleepers.hpp"

namespace acp::engine {

namespace {

// Shorter ones are worth a second copy, when many of them then share a system call.
constexpr std::uint64_t collected_bytes_max = 1024;

using base::Code;
using router::Settlement;
using router::SettlementState;

const char* chars(const std::byte* bytes) noexcept {
    return reinterpret_cast<const char*>(bytes);
}

}  // namespace

LocalPlacement::LocalPlacement(const Parts& parts)
    : space_(*parts.space),
      hazards_(*parts.hazards),
      attach_(parts.attach),
      operations_(parts.operations),
      later_(parts.space->segment().shape().local_procs) {
    if (attach_ != nullptr) batch_.emplace(space_, hazards_, *attach_);
    if (parts.port != nullptr) owners_.emplace(space_, hazards_, *parts.port);
}

LocalPlacement::Way LocalPlacement::way_to(const local::Place& place) noexcept {
    if (place.direct != nullptr) return Way::direct;
    if (node::is_dead(space_.segment(), place.slot)) return Way::dead;
    if (attach_ != nullptr && !place.is_owner_only() && attach_->can_reach(place.slot))
        return Way::attach;
    return owners_ ? Way::owner : Way::none;
}

Settlement LocalPlacement::failed(Way way) noexcept {
    return {SettlementState::settled, way == Way::dead ? Code::peer : Code::unsupported};
}

// The state of an access whose owner was asked for it.
Settlement LocalPlacement::of_owner(OwnerCalls::Begun begun, std::uint64_t bytes) noexcept {
    switch (begun) {
        case OwnerCalls::Begun::no_room:
            return {SettlementState::refused, Code::ok};
        case OwnerCalls::Begun::no_memory:
            return {SettlementState::settled, Code::memory};
        case OwnerCalls::Begun::yes:
            break;
    }
    counts_.owner_bytes += bytes;
    return {SettlementState::accepted, Code::ok};
}

Settlement LocalPlacement::put(GlobalAddress target,
                               std::span<const std::byte> bytes,
                               Ticket ticket) {
    local::Place place;
    Way way = Way::none;
    {
        const Inside inside(hazards_, target, target);
        const Code code = space_.find(target, bytes.size(), place);
        if (code != Code::ok) return {SettlementState::settled, code};
        way = way_to(place);
        if (way == Way::direct) {
            local::move_bytes(place.direct, chars(bytes.data()), bytes.size());
            counts_.direct_bytes += bytes.size();
            node::ring_word_sleepers(space_.segment(), place.slot);
            return {};
        }
        if (bytes.empty()) return {};
        if (way == Way::attach && bytes.size() > batched_bytes_max) {
            const Code outcome = put_attached(place, bytes);
            if (outcome != Code::unsupported) return {SettlementState::settled, outcome};
            way = way_to(place);  // the kernel refuses since now
        }
    }
    if (way == Way::attach) {
        if (!batch_->put(target, bytes, ticket)) return {SettlementState::refused, Code::ok};
        counts_.attach_bytes += bytes.size();
        return {SettlementState::accepted, Code::ok};
    }
    if (way != Way::owner) return failed(way);
    return of_owner(owners_->put(place.slot, target, bytes, ticket), bytes.size());
}

Code LocalPlacement::put_attached(const local::Place& place, std::span<const std::byte> bytes) {
    local::AttachCopy move;
    move.target = place;
    move.source.direct = const_cast<char*>(chars(bytes.data()));  // read only
    move.bytes = bytes.size();
    attach_->run(move);
    counts_.attach_bytes += bytes.size();
    node::ring_word_sleepers(space_.segment(), place.slot);
    return move.code;
}

Code LocalPlacement::get_direct(const local::Place& place, std::span<std::byte> into) {
    local::move_bytes(reinterpret_cast<char*>(into.data()), place.direct, into.size());
    counts_.direct_bytes += into.size();
    return Code::ok;
}

Code LocalPlacement::get_attached(const local::Place& place, std::span<std::byte> into) {
    local::AttachCopy move;
    move.target.direct = reinterpret_cast<char*>(into.data());
    move.source = place;
    move.bytes = into.size();
    attach_->run(move);
    counts_.attach_bytes += into.size();
    return move.code;
}

Settlement LocalPlacement::get_now(GlobalAddress source, std::span<std::byte> into) {
    const Inside inside(hazards_, source, source);
    local::Place place;
    const Code code = space_.find(source, into.size(), place);
    if (code != Code::ok) return {SettlementState::settled, code};
    const Way way = way_to(place);
    if (way == Way::direct) return {SettlementState::settled, get_direct(place, into)};
    if (into.empty()) return {};
    if (way == Way::attach && into.size() > collected_bytes_max) {
        const Code outcome = get_attached(place, into);
        if (outcome != Code::unsupported) return {SettlementState::settled, outcome};
    }
    return {SettlementState::refused, Code::ok};
}

// The node segment is mapped as long as this process is in the job.
const std::byte* LocalPlacement::find_lasting(GlobalAddress source, std::uint64_t bytes) {
    const Inside inside(hazards_, source, source);
    local::Place place;
    if (space_.find(source, bytes, place) != Code::ok || !place.is_shared() ||
        place.direct == nullptr) {
        return nullptr;
    }
    counts_.direct_bytes += bytes;
    return reinterpret_cast<const std::byte*>(place.direct);
}

Settlement LocalPlacement::get(GlobalAddress source, std::span<std::byte> into, Ticket ticket) {
    local::Place place;
    Way way = Way::none;
    {
        const Inside inside(hazards_, source, source);
        const Code code = space_.find(source, into.size(), place);
        if (code != Code::ok) return {SettlementState::settled, code};
        way = way_to(place);
        if (way == Way::direct) return {SettlementState::settled, get_direct(place, into)};
        if (into.empty()) return {};
        if (way == Way::attach && into.size() > batched_bytes_max) {
            const Code outcome = get_attached(place, into);
            if (outcome != Code::unsupported) return {SettlementState::settled, outcome};
            way = way_to(place);  // the kernel refuses since now
        }
    }
    if (way == Way::attach) {
        if (!batch_->get(source, into, ticket)) return {SettlementState::refused, Code::ok};
        counts_.attach_bytes += into.size();
        return {SettlementState::accepted, Code::ok};
    }
    if (way != Way::owner) return failed(way);
    return of_owner(owners_->get(place.slot, source, into, ticket), into.size());
}

Settlement LocalPlacement::invoke(std::uint32_t operation,
                                  std::uint32_t process,
                                  std::span<const std::byte> arguments,
                                  std::span<std::byte> result,
                                  std::uint32_t& result_bytes) {
    const local::NumberedOperation* row = operations_ ? operations_->find(operation) : nullptr;
    if (row == nullptr) {
        return {SettlementState::settled, Code::unsupported};
    }
    if (!space_.is_on_node(process) || arguments.size() > row->argument_bytes_max ||
        result.size() < row->result_bytes_max) {
        return {SettlementState::settled, Code::argument};
    }
    const local::NumberedOperation::Ran ran = run_operation(*row, process, arguments, result);
    result_bytes = ran.result_bytes;
    return {SettlementState::settled, ran.code};
}

local::NumberedOperation::Ran LocalPlacement::run_operation(const local::NumberedOperation& row,
                                                            std::uint32_t process,
                                                            std::span<const std::byte> arguments,
                                                            std::span<std::byte> result) {
    local::Hazards::Lease lease(hazards_);
    local::OperationContext context(space_, hazards_, lease.line(), process,
                                    local::OperationContext::gateway_thread);
    const local::NumberedOperation::Ran ran = local::run_operation(row, context, arguments, result);
    for (const std::uint32_t number : context.later()) later_.add({number, process});
    return ran;
}

void LocalPlacement::run_one_later() {
    const LaterOperation one = later_.take();
    const local::NumberedOperation* const row = operations_->find(one.number);
    ACP_ASSERT(row != nullptr && row->result_bytes_max == 0);
    (void)run_operation(*row, one.process, {}, {});
}

std::uint32_t LocalPlacement::result_bytes_max(std::uint32_t operation) const {
    const local::NumberedOperation* row = operations_ ? operations_->find(operation) : nullptr;
    return row != nullptr ? row->result_bytes_max : 0;
}

void LocalPlacement::flush() {
    if (is_telling_) return;
    is_telling_ = true;  // the router may call flush() while it handles a completion
    if (owners_) tell(owners_->ended());
    while (batch_ && !batch_->is_empty()) {
        batch_->run();
        tell(batch_->ended());
    }
    if (batch_ && batch_->has_refused()) {
        batch_->give_refused([this](const AttachBatch::Copy& copy) { return ask_owner(copy); });
    }
    is_telling_ = false;
}

// For a copy that the kernel refused. False: the owner has no room now.
bool LocalPlacement::ask_owner(const AttachBatch::Copy& refused) {
    const auto process = static_cast<std::uint32_t>(space_.layout().process(refused.address));
    const std::uint32_t slot = space_.slot_of(process);
    Settlement outcome = failed(Way::none);
    if (node::is_dead(space_.segment(), slot)) {
        outcome = failed(Way::dead);
    } else if (owners_) {
        const std::span bytes(reinterpret_cast<std::byte*>(refused.near), refused.bytes);
        outcome =
            of_owner(refused.is_read ? owners_->get(slot, refused.address, bytes, refused.ticket)
                                     : owners_->put(slot, refused.address, bytes, refused.ticket),
                     refused.bytes);
    }
    if (outcome.progress == SettlementState::settled) settle_(refused.ticket, outcome.code, 0);
    return outcome.progress != SettlementState::refused;
}

// Delivers completions. A delivery may append to the list.
void LocalPlacement::tell(SettledList& ended) {
    for (std::size_t i = 0; i < ended.size(); ++i) {
        const SettledAccess one = ended[i];
        settle_(one.ticket, one.code, one.value);
    }
    ended.clear();
}

bool LocalPlacement::poll() {
    bool has_moved = owners_ && owners_->poll();
    has_moved = has_moved || (owners_ && !owners_->ended().is_empty()) ||
                (batch_ && (!batch_->is_empty() || batch_->has_refused()));
    flush();
    if (later_.is_empty()) [[likely]]
        return has_moved;
    run_one_later();
    return true;
}

bool LocalPlacement::has_work() const noexcept {
    return has_later() || (batch_ && !batch_->is_empty()) || (owners_ && owners_->has_work());
}

void LocalPlacement::on_death(std::uint32_t slot) {
    if (owners_) owners_->on_death(slot);
}

}  // namespace acp::engine
