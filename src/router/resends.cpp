// SPDX-License-Identifier: BSD-3-Clause
// Keeps a queue for each waiting time, so that each queue is in the order of due times.
#include "router/resends.hpp"

#include <algorithm>

namespace acp::router {

using base::Code;

Resends::Resends(OwnCommands& own, Activity& activity, std::uint32_t commands_max)
    : own_(own), activity_(activity), resends_(std::max(2 * commands_max, resends_min)) {}

std::uint32_t Resends::level_of(const Outstanding& record) noexcept {
    return std::min<std::uint32_t>(record.attempts, resend_levels - 1);
}

void Resends::add(std::uint32_t command, std::uint64_t offset, std::uint64_t bytes) {
    const Outstanding& record = own_[command];
    const Queue& queue = queues_[level_of(record)];
    if (!queue.is_empty()) {
        // Neighbouring parts of one copy are joined, so that a long copy needs few records.
        Resend& last = resends_[queue.tail];
        if (last.initiator == record.initiator && last.token == record.token && !last.is_value &&
            last.offset + last.bytes == offset) {
            last.bytes += bytes;
            return;
        }
    }
    Resend* again = take(command);
    if (again == nullptr) return;
    again->is_value = false;
    again->offset = offset;
    again->bytes = bytes;
}

void Resends::add_value(std::uint32_t command, std::uint64_t value) {
    Resend* again = take(command);
    if (again == nullptr) return;
    again->is_value = true;
    again->offset = value;
}

// Takes and queues a record. If there is none, fails the command and returns nullptr.
Resend* Resends::take(std::uint32_t command) {
    const Outstanding& record = own_[command];
    const std::uint32_t taken = resends_.take();
    if (taken == no_index) {
        const auto target = static_cast<std::uint32_t>(own_.target_process(record));
        own_.complete(command, {Code::limit, BlamedAddress::target, target});
        return nullptr;
    }
    const std::uint32_t level = level_of(record);
    Resend& again = resends_[taken];
    again.token = record.token;
    again.initiator = record.initiator;
    again.bytes = 0;
    again.due = activity_.now() + (resend_ns_min << level);
    queues_[level].push(resends_, taken);
    return &again;
}

Time Resends::deadline() const noexcept {
    Time earliest = datagram::never;
    for (const Queue& queue : queues_) {
        if (!queue.is_empty()) earliest = std::min(earliest, resends_[queue.head].due);
    }
    return earliest;
}

}  // namespace acp::router
