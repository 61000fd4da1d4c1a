// SPDX-License-Identifier: BSD-3-Clause
// Which commands may go ahead, and how.
#include "gma/ahead_commands.hpp"

#include <span>

namespace acp::gma {

bool AheadCommands::is_put_to(const Command& command,
                              std::uint64_t process,
                              std::uint64_t bytes_max) const noexcept {
    return command.is_copy() && command.bytes != 0 && command.bytes <= bytes_max &&
           space_.layout().process(command.source) == space_.process() &&
           space_.layout().process(command.target) == process;
}

bool AheadCommands::collect(std::uint64_t number, Handle order) noexcept {
    const CommandQueue& queue = commands_.queue;
    if (link_ == nullptr || count_ == count_max || routes_.is_gateway_dead()) return false;
    const Command& command = queue.command(number);
    const std::uint64_t process = space_.layout().process(command.target);
    const AwaitedRun before = queue.awaited_by(number, order);
    if (before.count > memory::commands_before_max || !routes_.is_far(command) ||
        !(command.is_invoke() || is_put_to(command, process, put_bytes_max))) {
        return false;
    }
    const std::uint64_t leading_max = command.is_invoke() ? ~std::uint64_t{0} : leading_bytes_max;
    for (std::uint64_t i = 0; i < before.count; ++i) {
        const std::uint64_t leading = before.first + 2 * i;
        if (!queue.is_outstanding(leading)) continue;
        if (!queue.is_ready(leading) || !is_put_to(queue.command(leading), process, leading_max)) {
            return false;
        }
    }
    ahead_[count_++] = {number, before};
    return true;
}

AheadCommands::Handed AheadCommands::hand_over() {
    Handed handed;
    std::size_t kept = 0;
    for (const Ahead& ahead : std::span(ahead_).first(count_)) {
        if (!commands_.queue.is_outstanding(ahead.number) ||
            commands_.queue.is_ready(ahead.number)) {
            continue;
        }
        if (!hand_over(ahead)) {
            ahead_[kept++] = ahead;
            continue;
        }
        commands_.queue.note_ahead(ahead.number);
        ++handed.commands;
        handed.bytes += commands_.queue.command(ahead.number).bytes;
    }
    count_ = kept;
    return handed;
}

// False: the link has no room.
bool AheadCommands::hand_over(const Ahead& ahead) {
    const Command& command = commands_.queue.command(ahead.number);
    const auto count = static_cast<std::uint32_t>(ahead.before.count);
    if (!command.is_invoke()) {
        const memory::NumberedCommand one{ahead.number, &command, ahead.before.first, count};
        return link_->submit_all({&one, 1}) == 1;
    }
    remote::LinkInvocation invocation = invokes_.invocation_of(command);
    invocation.before = ahead.before.first;
    invocation.before_count = count;
    return link_->invoke(ahead.number, invocation);
}

}  // namespace acp::gma
