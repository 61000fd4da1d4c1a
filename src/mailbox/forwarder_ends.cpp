// SPDX-License-Identifier: BSD-3-Clause
// Reports completions to other initiators, and completes commands of this process.
#include "mailbox/forwarder_ends.hpp"

#include <array>
#include <bit>

#include "local/direct.hpp"

namespace acp::mailbox {

using Stage = ForwarderCommands::Stage;

void ForwarderEnds::report(std::uint32_t origin,
                           std::uint64_t token,
                           const AccessVerdict& verdict) {
    if (origin == memory_.own_slot()) {
        on_end(token, verdict);
        return;
    }
    if (verdict.is_ok()) counters_.note_served_command();
    MessageHead head = queues_.head(MessageKind::end, origin, token);
    head.blame = static_cast<std::uint8_t>(verdict.blame);
    head.code = static_cast<std::uint8_t>(verdict.code);
    head.operand = verdict.operand;
    queues_.post(origin, head, {});
}

void ForwarderEnds::on_end(std::uint64_t token, const AccessVerdict& verdict) {
    const std::uint32_t index = commands_.find(token);
    if (index == ForwarderCommands::nobody) {
        return;
    }
    if (!verdict.is_ok()) {
        commands_.fail(index, verdict);
        return;
    }
    const ForwarderCommands::Record& record = commands_[index];
    const bool is_storing = record.stage == Stage::storing;
    if (record.receiver != ForwarderCommands::nobody && !is_storing) {
        counters_.note_forwarded(record.command.bytes);
    }
    if (record.command.is_copy() || is_storing) {
        commands_.finish(index);
    } else {
        store_old_value(index, verdict.operand);
    }
}

void ForwarderEnds::on_fetched(std::uint32_t origin,
                               std::uint64_t token,
                               std::span<const char> bytes) {
    const std::uint32_t index = commands_.find(token);
    if (origin != memory_.own_slot() || index == ForwarderCommands::nobody) {
        return;  // the command has failed already, because its owner was found dead
    }
    const ForwarderCommands::Record& record = commands_[index];
    if (record.into == nullptr || bytes.size() != record.command.bytes) {
        // the owner sent another number of bytes than the get has
        commands_.fail(index, base::Code::system);
        return;
    }
    local::move_bytes(record.into, bytes.data(), bytes.size());
    on_end(token, {});
}

void ForwarderEnds::store_old_value(std::uint32_t index, std::uint64_t old) {
    const ForwarderCommands::Record& record = commands_[index];
    const memory::Command& command = record.command;
    if (record.is_value_wanted || !command.has_target()) {
        commands_.finish(index, old);
        return;
    }
    const ForwarderMemory::Naming naming(memory_, command.target, command.target);
    local::Place target;
    const AccessVerdict verdict = memory_.find_target(command.target, command.width, target);
    if (!verdict.is_ok()) {
        commands_.fail(index, verdict);
        return;
    }
    if (target.is_device() && target.slot == memory_.own_slot()) {
        commands_.await_store(index, target.slot);
        PieceCopy store{commands_.token_of(index),
                        command.target,
                        command.target,
                        command.width,
                        0,
                        target.slot};
        store.kind = PieceCopy::Kind::store;
        store.operand = old;
        queues_.add_copy(target.slot, store);
        return;
    }
    if (memory_.reaches_here(target)) {
        local::store_old(target.direct, old, command.width);
        commands_.finish(index);
        return;
    }
    if (queues_.is_dead(target.slot)) {
        commands_.fail(index, {base::Code::peer, Blame::nothing, target.slot});
        return;
    }
    commands_.await_store(index, target.slot);
    MessageHead head =
        queues_.head(MessageKind::data, memory_.own_slot(), commands_.token_of(index));
    head.is_last = 1;
    head.target = command.target;
    // little endian: a 4-byte word is the first half
    const auto bytes = std::bit_cast<std::array<char, 8>>(old);
    queues_.post(target.slot, head, std::span(bytes).first(command.width));
}

}  // namespace acp::mailbox
