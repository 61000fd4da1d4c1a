// SPDX-License-Identifier: BSD-3-Clause
// Keeps commands from submit() to their completion, and writes the messages of failures.
#include "mailbox/forwarder_commands.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "node/death.hpp"

namespace acp::mailbox {

ForwarderCommands::ForwarderCommands(const local::Space& space, std::uint32_t slots)
    : space_(space), lanes_(slots) {
    ended_.reserve(records_min);
}

bool ForwarderCommands::make_room() noexcept {
    if (records_.make_room(1) == 0) return false;
    const std::uint64_t wanted = ended_.size() + outstanding_ + 1;
    if (wanted <= ended_.capacity()) return true;
    try {
        ended_.reserve(std::max<std::uint64_t>(wanted, 2 * ended_.capacity()));
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

std::uint32_t ForwarderCommands::add(std::uint64_t user_token,
                                     const memory::Command& command) noexcept {
    const std::uint32_t index = records_.take();
    Record& record = records_[index];
    record.user_token = user_token;
    record.command = command;
    record.is_value_wanted = false;
    record.into = nullptr;
    if (!command.is_copy()) record.command.bytes = command.width;
    ++outstanding_;
    return index;
}

void ForwarderCommands::withdraw(std::uint32_t index) noexcept {
    records_.give(index);
    --outstanding_;
}

void ForwarderCommands::want_value(std::uint32_t index) noexcept {
    Record& record = records_[index];
    // find() needs a valid address; the target is never written
    record.command.target = record.command.source;
    record.is_value_wanted = true;
}

ForwarderCommands::Ready ForwarderCommands::take_ready() noexcept {
    const std::uint32_t index = records_.pop(ready_);
    return {index, std::exchange(records_[index].queued_at, nobody)};
}

bool ForwarderCommands::send_to(std::uint32_t index,
                                std::uint32_t receiver,
                                std::uint32_t placer) noexcept {
    Lane& lane = lanes_[receiver];
    Record& record = records_[index];
    if (lane.in_flight >= commands_in_flight_max) {
        records_.push(lane.queued, index);
        record.queued_at = receiver;
        return false;
    }
    ++lane.in_flight;
    record.stage = Stage::running;
    record.receiver = receiver;
    record.executor = receiver;
    record.placer = placer;
    return true;
}

void ForwarderCommands::fail(std::uint32_t index, const AccessVerdict& verdict) noexcept {
    const Record& record = records_[index];
    std::string words;  // stays "" if there is no memory for the message
    try {
        words = explain(record.command, verdict);
    } catch (const std::bad_alloc&) {
        words.clear();
    }
    end(index, {record.user_token, verdict.code, std::move(words), 0});
}

void ForwarderCommands::end(std::uint32_t index, ForwardedEnd&& how) noexcept {
    ended_.push_back(std::move(how));  // cannot allocate: make_room() reserved the place
    --outstanding_;
    Record& record = records_[index];
    if (record.receiver != nobody) {
        --lanes_[record.receiver].in_flight;
        start_next(record.receiver);
    }
    record.receiver = record.executor = record.placer = nobody;
    record.stage = Stage::none;
    record.generation = record.generation + 1 == 0 ? 1 : record.generation + 1;
    records_.give(index);
}

std::string ForwarderCommands::explain(const memory::Command& command,
                                       const AccessVerdict& verdict) const {
    if (verdict.code == base::Code::peer) {
        return node::fate(space_.segment(), static_cast<std::uint32_t>(verdict.operand));
    }
    const bool is_target = verdict.blame == Blame::target && command.has_target();
    const memory::GlobalAddress address = is_target ? command.target : command.source;
    std::string text = std::string("the ") + memory::role_name(command, is_target) + " is " +
                       space_.explain(address, command.bytes);
    if (verdict.code == base::Code::alignment) {
        text += ", which lies at no multiple of " + std::to_string(command.width) +
                " in the memory of that rank";
    } else if (verdict.code == base::Code::system) {
        text += ": its device is lost";
    }
    return text;
}

void ForwarderCommands::on_death(std::uint32_t dead_slot) noexcept {
    const AccessVerdict verdict{base::Code::peer, Blame::nothing, dead_slot};
    for (std::uint32_t index = 0; index < records_.size(); ++index) {
        const Record& record = records_[index];
        const bool is_running = record.stage == Stage::running || record.stage == Stage::storing;
        if (is_running && (record.executor == dead_slot || record.placer == dead_slot)) {
            fail(index, verdict);
        }
    }
    Chain& queued = lanes_[dead_slot].queued;
    while (!queued.is_empty()) {
        records_.push(ready_, records_.pop(queued));
    }
}

}  // namespace acp::mailbox
