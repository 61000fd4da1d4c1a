// SPDX-License-Identifier: BSD-3-Clause
// Decides which process runs a command, and sends the first message to it.
#include "mailbox/forwarder_starter.hpp"

namespace acp::mailbox {

namespace {

constexpr std::uint32_t nobody = ForwarderCommands::nobody;

bool is_aligned(const local::Place& place, std::uint8_t width) noexcept {
    return place.owner_address % width == 0;
}

}  // namespace

std::uint32_t ForwarderStarter::start_some() {
    std::uint32_t started = 0;
    // Each start may take an item.
    for (; commands_.is_any_ready() && started < messages_per_poll_max && queues_.make_room(1) != 0;
         ++started) {
        const ForwarderCommands::Ready ready = commands_.take_ready();
        start(ready.index);
        if (ready.queued_at != nobody) commands_.start_next(ready.queued_at);
    }
    return started;
}

void ForwarderStarter::start(std::uint32_t index) {
    const memory::Command& command = commands_[index].command;
    local::Place target;
    local::Place source;
    const memory::GlobalAddress written = command.target_or_word();
    const ForwarderMemory::Naming naming(memory_, written, command.source);
    const AccessVerdict verdict =
        memory_.find(written, command.source, command.bytes, target, source);
    if (!verdict.is_ok()) {
        commands_.fail(index, verdict);
    } else if (command.is_copy()) {
        start_copy(index, target, source);
    } else {
        start_atomic(index, target, source);
    }
}

// Counts a command as sent to a process. False when the command must wait, or has failed because a
// process is dead.
//   placer  another process whose death fails the command, or no slot
bool ForwarderStarter::enlist(std::uint32_t index, std::uint32_t receiver, std::uint32_t placer) {
    for (const std::uint32_t slot : {receiver, placer}) {
        if (slot != nobody && queues_.is_dead(slot)) {
            commands_.fail(index, {base::Code::peer, Blame::nothing, slot});
            return false;
        }
    }
    return commands_.send_to(index, receiver, placer);
}

MessageHead ForwarderStarter::head_of(std::uint32_t index) const {
    const memory::Command& command = commands_[index].command;
    MessageHead head =
        queues_.head(MessageKind::command, memory_.own_slot(), commands_.token_of(index));
    head.operation = static_cast<std::uint8_t>(command.operation);
    head.width = command.width;
    head.target = command.target;
    head.source = command.source;
    head.bytes = command.bytes;
    head.operand = command.operand;
    // a copy's field is a note for its initiator alone (memory/command.hpp)
    head.expected = command.is_copy() ? 0 : command.expected;
    return head;
}

// Whether the owner of a device had better read the source itself, which it has mapped: its device
// then takes longer pieces than a message has.
bool ForwarderStarter::is_moved_there(const local::Place& target,
                                      const local::Place& source) const noexcept {
    return target.is_device() && memory_.reaches(target.slot, source);
}

void ForwarderStarter::start_copy(std::uint32_t index,
                                  const local::Place& target,
                                  const local::Place& source) {
    const memory::Command& command = commands_[index].command;
    if (command.bytes == 0) {
        commands_.finish(index);
        return;
    }
    const std::uint32_t own_slot = memory_.own_slot();
    const PieceCopy copy{
        commands_.token_of(index), command.target, command.source, command.bytes, 0, own_slot};
    const bool is_readable = memory_.reaches_here(source);
    if (is_readable && memory_.reaches_here(target)) {
        const bool is_on_device = source.is_device() || target.is_device();
        if (command.bytes <= move_bytes_max && !is_on_device) {
            memory_.move(command, target, source, own_slot);
            commands_.finish(index);
            return;
        }
        commands_.run_here(index);
        copies_.move_in_turns(copy);
    } else if (is_readable && (command.bytes <= queues_.datagram_bytes() ||
                               (source.is_own && !is_moved_there(target, source)))) {
        // this process reaches the source, so it sends the bytes
        if (enlist(index, target.slot, nobody)) copies_.send(target.slot, copy, source);
    } else {
        // sends the command to the owner of the source, or to the owner of the target when every
        // process has the source mapped
        const std::uint32_t executor = is_readable ? target.slot : source.slot;
        const bool is_relayed = !memory_.reaches(executor, target) && target.slot != own_slot;
        if (enlist(index, executor, is_relayed ? target.slot : nobody)) {
            queues_.post(executor, head_of(index), {});
        }
    }
}

void ForwarderStarter::start_atomic(std::uint32_t index,
                                    const local::Place& target,
                                    const local::Place& source) {
    const memory::Command& command = commands_[index].command;
    const bool is_source_aligned = is_aligned(source, command.width);
    if (!is_source_aligned || !is_aligned(target, command.width)) {
        commands_.fail(
            index, {base::Code::alignment, is_source_aligned ? Blame::target : Blame::source, 0});
        return;
    }
    if (source.is_device() && memory_.reaches_here(source)) {
        if (memory_.reaches_here(target)) {
            commands_.run_here(index);
        } else if (!enlist(index, target.slot, nobody)) {
            return;
        }
        copies_.run_on_device(command, source, commands_.token_of(index), memory_.own_slot());
        return;
    }
    if (memory_.reaches_here(source)) {
        if (!memory_.reaches_here(target) && !enlist(index, target.slot, nobody)) {
            return;  // the atomic was not applied: the command is started again when there is room
        }
        ends_.store_old_value(index,
                              memory_.run_atomic(command, source, memory_.own_slot()).operand);
        return;
    }
    if (enlist(index, source.slot, nobody)) {
        queues_.post(source.slot, head_of(index), {});
    }
}

bool ForwarderStarter::try_send(std::uint64_t user_token,
                                const memory::Command& command,
                                std::span<const char> bytes,
                                char* into) {
    const bool is_get = into != nullptr;
    const memory::GlobalAddress address = is_get ? command.source : command.target;
    AccessVerdict verdict;
    local::Place place;
    {
        const ForwarderMemory::Naming naming(memory_, address, address);
        verdict = is_get ? memory_.find_source(address, command.bytes, place)
                         : memory_.find_target(address, command.bytes, place);
    }
    if (verdict.is_ok() && queues_.is_dead(place.slot)) {
        verdict = {base::Code::peer, Blame::nothing, place.slot};
    }
    if (!commands_.make_room()) return false;
    const std::uint32_t index = commands_.add(user_token, command);
    if (!verdict.is_ok()) {
        commands_.fail(index, verdict);
        return true;
    }
    MessageHead head = head_of(index);
    if (!is_get) {
        head.kind = MessageKind::data;
        head.is_last = 1;
        head.bytes = 0;
    }
    if (commands_.is_full(place.slot) || queues_.has_messages(place.slot) ||
        queues_.has_copies(place.slot) || !queues_.send(place.slot, head, bytes)) {
        commands_.withdraw(index);
        return false;
    }
    (void)commands_.send_to(index, place.slot, nobody);  // cannot fail: the lane is not full
    commands_.fetch_into(index, into);
    return true;
}

}  // namespace acp::mailbox
