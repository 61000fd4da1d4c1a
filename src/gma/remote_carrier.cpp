// SPDX-License-Identifier: BSD-3-Clause
// Between the queue and the link. Writes the messages of failures, for the other node sends only a
// code and a process.
#include "gma/remote_carrier.hpp"

#include <array>
#include <utility>

#include "node/loss.hpp"

namespace acp::gma {

RemoteCarrier::RemoteCarrier(Commands& commands,
                             Invokes& invokes,
                             const Routes& routes,
                             const local::Space& space,
                             node::Slot& slot,
                             Manner manner)
    : commands_(commands),
      invokes_(invokes),
      routes_(routes),
      space_(space),
      slot_(slot),
      link_(manner.link),
      trace_(manner.trace),
      manner_(manner),
      ahead_(commands,
             invokes,
             routes,
             space,
             manner.is_polled_here && manner.is_peer_served ? manner.link : nullptr) {
    if (link_ != nullptr) ended_.reserve(ended_min);
}

bool RemoteCarrier::has_news() const noexcept {
    return link_ != nullptr && (manner_.is_polled_here ||
                                has_work_.load(std::memory_order_relaxed) || link_->has_news());
}

bool RemoteCarrier::has_task() const noexcept {
    if (link_ == nullptr) {
        return false;
    }
    const bool is_heard =
        manner_.is_polled_here || is_service_wanted_.load(std::memory_order_seq_cst);
    return has_work_.load(std::memory_order_seq_cst) || (is_heard && link_->has_news());
}

std::uint64_t RemoteCarrier::hand_over() {
    has_work_.store(false, std::memory_order_relaxed);
    is_fed_.store(false, std::memory_order_relaxed);
    if (routes_.is_gateway_dead()) {
        ahead_.forget_all();
        return fail_collected();
    }
    std::uint64_t handed = collected_.is_empty() ? 0 : hand_collected();
    // The commands that they are ordered after are handed over first.
    if (!ahead_.is_empty() && collected_.is_empty()) handed += hand_ahead();
    return handed;
}

bool RemoteCarrier::collect_ahead(std::uint64_t number, Handle order) noexcept {
    if (!ahead_.collect(number, order)) return false;
    is_fed_.store(true, std::memory_order_relaxed);
    return true;
}

std::uint64_t RemoteCarrier::hand_ahead() {
    const AheadCommands::Handed handed = ahead_.hand_over();
    under_way_ += handed.commands;
    count(handed.commands, handed.bytes);
    return handed.commands;
}

std::uint64_t RemoteCarrier::hand_collected() {
    std::array<memory::NumberedCommand, handed_at_once_max> run;
    std::uint64_t handed = 0;
    std::uint64_t bytes = 0;
    std::size_t taken = 0;
    do {
        taken = hand_run({run.data(), commands_.queue.first_of(collected_, run)});
        if (taken == 0) {
            break;
        }
        for (std::size_t i = 0; i < taken; ++i) {
            bytes += run[i].command->bytes;
        }
        commands_.queue.take_through(collected_, run[taken - 1].number, taken);
        handed += taken;
    } while (taken == run.size());
    has_invokes_ = has_invokes_ && !collected_.is_empty();
    under_way_ += handed;
    count(handed, bytes);
    return handed;
}

// How many of a run the link took, first to last. Invokes go one by one, what stands between them
// together.
std::size_t RemoteCarrier::hand_run(std::span<const memory::NumberedCommand> run) {
    if (!has_invokes_) [[likely]] {
        return link_->submit_all(run);
    }
    std::size_t taken = 0;
    while (taken < run.size()) {
        const memory::NumberedCommand& next = run[taken];
        if (next.command->is_invoke()) {
            if (!link_->invoke(next.number, invokes_.invocation_of(*next.command))) break;
            ++taken;
            continue;
        }
        std::size_t end = taken + 1;
        while (end < run.size() && !run[end].command->is_invoke()) ++end;
        const std::size_t wanted = end - taken;
        const std::size_t given = link_->submit_all(run.subspan(taken, wanted));
        taken += given;
        if (given < wanted) break;
    }
    return taken;
}

std::uint64_t RemoteCarrier::fail_collected() {
    const std::uint64_t failed = collected_.count;
    while (!collected_.is_empty()) {
        const std::uint64_t number = commands_.queue.take_first(collected_);
        commands_.finish(number, routes_.no_gateway(commands_.queue.command(number)));
    }
    has_invokes_ = false;
    return failed;
}

bool RemoteCarrier::poll(bool may_answers_wait) {
    ended_.clear();
    if (may_answers_wait) link_->let_answers_wait();
    return link_->poll(ended_);
}

std::uint32_t RemoteCarrier::end_commands() {
    for (remote::Ended& ended : ended_) {
        under_way_ -= ended.count;
        if (ended.result != nullptr) [[unlikely]] {
            ended.code = take_result(ended);
        }
        if (ended.code == base::Code::ok && trace_ == nullptr &&
            commands_.queue.finish_oldest(ended.token, ended.count)) [[likely]] {
            continue;
        }
        for (std::uint32_t i = 0; i < ended.count; ++i) {
            const std::uint64_t number = ended.token + 2 * std::uint64_t{i};
            if (!commands_.queue.is_ready(number)) {
                continue;  // it ended already, by a death
            }
            const Command& command = commands_.queue.command(number);
            base::Status status;
            if (ended.code != base::Code::ok) {
                status = failure_of(command, ended);
            } else if (trace_ != nullptr) {
                trace_->record(command, "remote", space_.rank());
            }
            commands_.finish(number, std::move(status));
        }
    }
    return static_cast<std::uint32_t>(ended_.size());
}

// The result of an invoke goes to its caller while the command is outstanding.
base::Code RemoteCarrier::take_result(const remote::Ended& ended) noexcept {
    if (!commands_.queue.is_ready(ended.token)) return ended.code;  // it ended already, by a death
    const Command& command = commands_.queue.command(ended.token);
    return command.is_invoke() ? invokes_.put_result(command, {ended.result, ended.result_bytes})
                               : ended.code;
}

bool RemoteCarrier::update_service_wish() noexcept {
    if (link_ == nullptr) {
        return false;
    }
    const bool is_wanted =
        !manner_.may_program_poll || commands_.queue.waiting() != 0 || !collected_.is_empty();
    if (is_wanted == is_service_wanted_.load(std::memory_order_relaxed)) {
        return false;
    }
    is_service_wanted_.store(is_wanted, std::memory_order_seq_cst);  // partner: has_task()
    link_->set_service_wanted(is_wanted);
    return is_wanted && link_->has_news();
}

void RemoteCarrier::on_gateway_death() {
    if (link_ == nullptr) {
        return;
    }
    collected_ = {};  // each of them is ended below
    ahead_.forget_all();
    has_invokes_ = false;
    const std::uint64_t issued = commands_.queue.issued();
    for (std::uint64_t number = commands_.queue.done() + 2; number <= issued; number += 2) {
        if (commands_.queue.is_ready(number) && routes_.is_far(commands_.queue.command(number))) {
            commands_.finish(number, routes_.no_gateway(commands_.queue.command(number)));
        }
    }
}

void RemoteCarrier::close() noexcept {
    if (link_ != nullptr) {
        link_->set_service_wanted(false);
    }
}

// One writer at a time: the holder of the lock.
void RemoteCarrier::count(std::uint64_t commands, std::uint64_t bytes) {
    slot_.remote_commands.store(slot_.remote_commands.load(std::memory_order_relaxed) + commands,
                                std::memory_order_relaxed);
    slot_.remote_bytes.store(slot_.remote_bytes.load(std::memory_order_relaxed) + bytes,
                             std::memory_order_relaxed);
}

base::Status RemoteCarrier::failure_of(const Command& command, const remote::Ended& ended) const {
    if (command.is_invoke() && ended.code != base::Code::peer) {
        return invokes_.failure_of(command, ended.code);
    }
    return base::Status::worded(ended.code, [&] { return text_of(command, ended); });
}

// "8 bytes at global address 0x... of rank 3 on node 1 (10.0.0.4)"
std::string RemoteCarrier::text_of_end(GlobalAddress address, std::uint64_t bytes) const {
    return local::Space::range_name(address, bytes) + " of " + space_.owner_name(address);
}

std::string RemoteCarrier::text_of(const Command& command, const remote::Ended& ended) const {
    const std::string who =
        (command.is_invoke() ? invokes_.subject(command) : subject_of(command, space_.rank())) +
        ": ";
    if (ended.code == base::Code::peer) {
        return who + node::fate_of_process(space_.segment(), ended.process, ended.loss);
    }
    if (ended.blamed == memory::BlamedAddress::none) {
        return who + base::phrase(ended.code) + ": the target is " +
               text_of_end(command.target_or_word(), command.bytes) + ", the source " +
               text_of_end(command.source, command.bytes);
    }
    const bool is_target = ended.blamed == memory::BlamedAddress::target && command.has_target();
    const GlobalAddress address = is_target ? command.target : command.source;
    const std::string owner = space_.owner_name(address);
    std::string what = base::phrase(ended.code) + (" (" + owner + ")");
    if (ended.code == base::Code::address) {  // the segments of other nodes are not known here
        what = "no registered memory of " + owner +
               " holds all of it (it is not registered, longer than what is, or unmapped)";
    } else if (ended.code == base::Code::stale) {
        what = "that memory of " + owner + " was unregistered";
    } else if (ended.code == base::Code::alignment) {
        what = "it lies at no multiple of " + std::to_string(command.width) + " in the memory of " +
               owner;
    }
    return who + "the " + memory::role_name(command, is_target) + " is " +
           local::Space::range_name(address, command.bytes) + ": " + what;
}

}  // namespace acp::gma
