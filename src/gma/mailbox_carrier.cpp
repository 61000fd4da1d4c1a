// SPDX-License-Identifier: BSD-3-Clause
// Between the queue and the forwarder.
#include "gma/mailbox_carrier.hpp"

#include <span>
#include <string>
#include <utility>

namespace acp::gma {

std::uint32_t MailboxCarrier::hand_over() {
    const std::uint64_t count = queued_.count;
    while (!queued_.is_empty()) {
        const std::uint64_t number = commands_.queue.take_first(queued_);
        if (!forwarder_.submit(number, commands_.queue.command(number))) {
            commands_.finish(number, no_memory(commands_.queue.command(number)));
        }
    }
    count_.store(count_.load(std::memory_order_relaxed) - count, std::memory_order_relaxed);
    has_work_.store(false, std::memory_order_relaxed);
    return static_cast<std::uint32_t>(count);
}

std::uint32_t MailboxCarrier::poll() {
    const std::uint32_t done = forwarder_.poll();
    if (forwarder_.has_backlog()) {
        has_work_.store(true, std::memory_order_relaxed);
    }
    return done;
}

std::uint32_t MailboxCarrier::end_commands() {
    const std::span<mailbox::ForwardedEnd> all = forwarder_.ended();
    for (mailbox::ForwardedEnd& ended : all) {
        base::Status status;
        if (ended.code != base::Code::ok && commands_.queue.is_ready(ended.token)) {
            status = failure_of(commands_.queue.command(ended.token), ended);
        }
        commands_.finish(ended.token, std::move(status));
    }
    const auto count = static_cast<std::uint32_t>(all.size());
    forwarder_.forget_ended();
    return count;
}

void MailboxCarrier::on_death(std::uint32_t slot) {
    port_.forget(slot);
    forwarder_.on_death(slot);
}

base::Status MailboxCarrier::failure_of(const Command& command,
                                        const mailbox::ForwardedEnd& ended) const {
    if (ended.message.empty()) {
        return base::Status::bare(ended.code);
    }
    return base::Status::worded(
        ended.code, [&] { return subject_of(command, space_.rank()) + ": " + ended.message; });
}

base::Status MailboxCarrier::no_memory(const Command& command) const {
    return base::Status::worded(base::Code::memory, [&] {
        return subject_of(command, space_.rank()) +
               ": this process has no memory left to ask another one for it; it was not run";
    });
}

}  // namespace acp::gma
