// SPDX-License-Identifier: BSD-3-Clause
// Connects the parts of a forwarder, and passes each call to one of them. poll() has the order of
// their work in one round.
#include "mailbox/forwarder.hpp"

#include <algorithm>
#include <utility>

#include "mailbox/forwarder_server.hpp"
#include "mailbox/forwarder_starter.hpp"

namespace acp::mailbox {

struct Forwarder::Parts {
    Parts(local::Space& space, local::Hazards& hazards, Port& its_port, std::uint32_t epoch)
        : port(its_port),
          counters(space.segment().slot(space.slot())),
          memory(space, hazards, counters),
          queues(port, space.slot(), node::slots_of(space.segment().shape()), epoch),
          commands(space, node::slots_of(space.segment().shape())),
          ends(memory, queues, commands, counters),
          devices(memory),
          copies(memory, queues, commands, ends, devices),
          starter(memory, queues, commands, ends, copies),
          server(memory, queues, ends, copies, devices, counters),
          on_message([this](std::uint32_t, const MessageHead& head, std::span<const char> payload) {
              server.on_message(head, payload);
          }) {}

    // Each part knows some of the parts declared before it, and none declared after it.
    Port& port;
    ForwarderCounters counters;
    ForwarderMemory memory;
    ForwarderQueues queues;
    ForwarderCommands commands;
    ForwarderEnds ends;
    ForwarderDevices devices;
    ForwarderCopies copies;
    ForwarderStarter starter;
    ForwarderServer server;
    Port::Handler on_message;
};

Forwarder::Forwarder(local::Space& space, local::Hazards& hazards, Port& port, std::uint32_t epoch)
    : parts_(std::make_unique<Parts>(space, hazards, port, epoch)) {}

Forwarder::~Forwarder() = default;

bool Forwarder::submit(std::uint64_t token, const memory::Command& command) noexcept {
    ForwarderCommands& commands = parts_->commands;
    if (!commands.make_room()) return false;
    commands.enqueue(commands.add(token, command));
    return true;
}

bool Forwarder::submit_for_value(std::uint64_t token, const memory::Command& command) noexcept {
    ForwarderCommands& commands = parts_->commands;
    if (!commands.make_room()) return false;
    const std::uint32_t index = commands.add(token, command);
    commands.want_value(index);
    commands.enqueue(index);
    return true;
}

bool Forwarder::try_put(std::uint64_t token,
                        memory::GlobalAddress target,
                        std::span<const char> bytes) {
    memory::Command command;
    command.target = target;
    command.bytes = bytes.size();
    return parts_->starter.try_send(token, command, bytes, nullptr);
}

bool Forwarder::try_get(std::uint64_t token, memory::GlobalAddress source, std::span<char> into) {
    memory::Command command;
    command.source = source;
    command.bytes = into.size();
    return parts_->starter.try_send(token, command, {}, into.data());
}

std::uint32_t Forwarder::poll() {
    Parts& parts = *parts_;
    std::uint32_t done = parts.starter.start_ready();
    // Handling a message may take an item, in which the answer waits for room: without a free item
    // the message stays in the port.
    const std::uint32_t room =
        std::min(parts.queues.make_room(messages_per_poll_max), parts.devices.free_slots());
    done += parts.port.receive(parts.on_message, std::min(room, messages_per_poll_max));
    done += parts.starter.start_ready();  // a completed command makes room for the next one
    done += parts.copies.send_waiting();
    done += parts.devices.poll();
    done += parts.copies.report_placed();
    parts.memory.end_poll();  // the next poll may be another thread's
    return done;
}

std::span<ForwardedEnd> Forwarder::ended() noexcept {
    return parts_->commands.ended();
}

void Forwarder::forget_ended() noexcept {
    parts_->commands.forget_ended();
}

bool Forwarder::has_work() const noexcept {
    return parts_->commands.is_any_ready() || parts_->queues.can_send() ||
           parts_->devices.has_work();
}

bool Forwarder::has_backlog() const noexcept {
    return parts_->commands.is_any_ready() || !parts_->queues.is_empty() ||
           parts_->devices.has_work();
}

// Copies first: this process reports the failure of the copies that it runs for other initiators by
// messages. The second call then completes the commands of this process, each once.
void Forwarder::on_death(std::uint32_t dead_slot) {
    if (!parts_->queues.note_death(dead_slot)) return;
    parts_->copies.on_death(dead_slot);
    parts_->commands.on_death(dead_slot);
}

std::uint64_t Forwarder::outstanding() const noexcept {
    return parts_->commands.outstanding();
}

void Forwarder::open_devices(DeviceHost& host) {
    if (host.device_count() != 0) parts_->devices.open(host, parts_->queues.datagram_bytes());
}

void Forwarder::set_observer(Observer observer) {
    parts_->memory.set_observer(std::move(observer));
}

}  // namespace acp::mailbox
