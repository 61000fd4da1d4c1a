// SPDX-License-Identifier: BSD-3-Clause
// Tests whether commands have ended, and shows a wait for it in the process's slot.
#include "gma/commands_end.hpp"

#include <array>
#include <mutex>

namespace acp::gma {

LookResult CommandsEnd::look() {
    return has_come() ? LookResult::all : LookResult::nothing;
}

bool CommandsEnd::has_come() {
    if (commands_.queue.done() >= number_) return true;
    if (!is_alone()) return false;
    const std::scoped_lock lock(commands_.mutex);
    return !commands_.queue.is_outstanding(number_);
}

void CommandsEnd::announce(node::AwaitedEntry& entry, std::uint64_t since_ns) {
    const std::scoped_lock lock(commands_.mutex);
    const std::uint64_t awaited = first_awaited();
    if (awaited == 0) return;
    if (commands_.queue.command(awaited).is_of_layer()) {
        std::array<char, 64> text;  // NOLINT: written as far as read
        const auto& of_layer = LayerCommand::of(commands_.queue.command(awaited));
        const std::size_t bytes = of_layer.describe(text);
        return entry.tell(node::WaitFor::action, since_ns, nullptr, {text.data(), bytes});
    }
    const Command command = commands_.as_written(commands_.queue.command(awaited));
    entry.tell(what_, since_ns, &command);
}

// With the lock. The first command that is waited for; 0: it has ended.
std::uint64_t CommandsEnd::first_awaited() const {
    if (is_alone()) return commands_.queue.is_outstanding(number_) ? number_ : 0;
    const std::uint64_t oldest = commands_.queue.oldest_outstanding();
    return oldest > number_ ? 0 : oldest;
}

}  // namespace acp::gma
