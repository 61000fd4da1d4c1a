// SPDX-License-Identifier: BSD-3-Clause
// Commands whose memory is on this node: copies and atomics.
#include "local/direct.hpp"
#include "node/word_sleepers.hpp"

#include "engine/local_placement.hpp"

namespace acp::engine {

namespace {

using base::Code;
using router::BlamedAddress;
using router::Settlement;
using router::SettlementState;

// How a command ended whose addresses have these codes, the target's first. Neither is ok: the
// target is blamed.
Settlement settled(Code target, Code source) noexcept {
    if (target != Code::ok) return {SettlementState::settled, target, BlamedAddress::target};
    return {SettlementState::settled, source,
            source != Code::ok ? BlamedAddress::source : BlamedAddress::none};
}

bool is_aligned(const local::Place& place, std::uint8_t width) noexcept {
    return place.owner_address % width == 0;
}

}  // namespace

Settlement LocalPlacement::run(const memory::Command& command,
                               bool is_value_wanted,
                               std::uint64_t& old,
                               Ticket ticket) {
    if (!memory::is_sound(command.operation, command.width))
        return {SettlementState::settled, Code::argument};
    return command.is_copy() ? copy(command, ticket)
                             : run_atomic(command, is_value_wanted, old, ticket);
}

Settlement LocalPlacement::copy(const memory::Command& command, Ticket ticket) {
    local::Place target;
    local::Place source;
    Way to = Way::none;
    Way from = Way::none;
    const auto is_asked_of_owners = [&] { return to == Way::owner || from == Way::owner; };
    {
        const Inside inside(hazards_, command.target, command.source);
        const Settlement found = settled(space_.find(command.target, command.bytes, target),
                                         space_.find(command.source, command.bytes, source));
        if (found.code != Code::ok || command.bytes == 0) return found;
        const auto find_ways = [&] {
            to = way_to(target);
            from = way_to(source);
        };
        find_ways();
        if (!is_asked_of_owners() && to < Way::none && from < Way::none) {
            const Settlement copied = copy_here(command, target, source);
            node::ring_word_sleepers(space_.segment(), target.slot);
            if (copied.code != Code::unsupported) return copied;
            find_ways();  // the kernel refuses since now
            if (!is_asked_of_owners()) return copied;
        }
    }
    if (to >= Way::none) return settled(failed(to).code, Code::ok);
    if (from >= Way::none) return settled(Code::ok, failed(from).code);
    const std::uint32_t executor = from == Way::owner ? source.slot : target.slot;
    return of_owner(owners_->run(executor, command, ticket), command.bytes);
}

// The caller names the addresses.
Settlement LocalPlacement::copy_here(const memory::Command& command,
                                     const local::Place& target,
                                     const local::Place& source) {
    if (target.direct != nullptr && source.direct != nullptr) {
        local::move_bytes(target.direct, source.direct, command.bytes);
        counts_.direct_bytes += command.bytes;
        return {};
    }
    local::AttachCopy move;
    move.target = target;
    move.source = source;
    move.bytes = command.bytes;
    attach_->run(std::span(&move, 1));
    counts_.attach_bytes += command.bytes;
    return move.is_target_refused ? settled(move.code, Code::ok) : settled(Code::ok, move.code);
}

Settlement LocalPlacement::run_atomic(const memory::Command& command,
                                      bool is_value_wanted,
                                      std::uint64_t& old,
                                      Ticket ticket) {
    const bool has_target = command.has_target() && !is_value_wanted;
    const GlobalAddress target_address = has_target ? command.target : command.source;
    local::Place word;
    local::Place target;
    const Inside inside(hazards_, target_address, command.source);
    const Code word_code = space_.find(command.source, command.width, word);
    if (word_code != Code::ok) return settled(Code::ok, word_code);
    const Code target_code = space_.find(target_address, command.width, target);
    if (target_code != Code::ok) return settled(target_code, Code::ok);
    if (!is_aligned(word, command.width)) return settled(Code::ok, Code::alignment);
    if (!is_aligned(target, command.width)) return settled(Code::alignment, Code::ok);
    const Way to = way_to(target);
    if (word.direct != nullptr && to == Way::direct) {
        old = local::apply(command, word.direct);
        node::ring_word_sleepers(space_.segment(), word.slot);
        if (has_target) {
            local::store_old(target.direct, old, command.width);
            node::ring_word_sleepers(space_.segment(), target.slot);
        }
        return {};
    }
    if (word.direct != nullptr && to == Way::attach) {
        if (!batch_->has_room(command.width)) return {SettlementState::refused, Code::ok};
        old = local::apply(command, word.direct);
        node::ring_word_sleepers(space_.segment(), word.slot);
        const auto bytes = std::as_bytes(std::span(&old, 1));  // little endian: a word of 4 first
        (void)batch_->put(target_address, bytes.first(command.width), ticket);  // there was room
        return {SettlementState::accepted, Code::ok};
    }
    if (to == Way::dead || to == Way::none) {
        const Code code = failed(to).code;
        return has_target ? settled(code, Code::ok) : settled(Code::ok, code);
    }
    // only the owner can run an atomic on its private memory
    const Way at_word = way_to(word);
    if (at_word == Way::dead || !owners_) {
        return settled(Code::ok, failed(at_word == Way::dead ? at_word : Way::none).code);
    }
    const std::uint32_t executor = word.direct != nullptr ? target.slot : word.slot;
    return of_owner(is_value_wanted ? owners_->run_for_value(executor, command, ticket)
                                    : owners_->run(executor, command, ticket),
                    0);
}

}  // namespace acp::engine
