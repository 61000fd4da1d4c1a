// SPDX-License-Identifier: BSD-3-Clause
// Commands with an end on another node: handed to the gateway through the link, ended when it tells, and failed when
// it is gone. The words of a failure are made here, for the code and the process come from far away.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "gma/gma.hpp"
#include "node/death.hpp"
#include "node/loss.hpp"
#include "node/node_table.hpp"
#include "os/process.hpp"

namespace acp::gma {

// Whether to turn the link: a gateway that is here must be turned to hear of anything.
bool Gma::has_link_news() const noexcept {
    return link_ != nullptr &&
           (is_gateway_here_ || has_link_work_.load(std::memory_order_relaxed) ||
            link_->has_news());
}

// Whether the service thread must not sleep. Else what has ended waits for the next call.
bool Gma::has_link_task() const noexcept {
    if (link_ == nullptr) {
        return false;
    }
    const bool is_heard = is_gateway_here_ || is_service_wanted_.load(std::memory_order_seq_cst);
    return has_link_work_.load(std::memory_order_seq_cst) || (is_heard && link_->has_news());
}

std::uint32_t Gma::turn_link() {
    if (link_ == nullptr) {
        return 0;
    }
    std::uint32_t done = 0;
    // relaxed: who queues one sets this under the lock, then turns or wakes somebody: it may be missed here
    if (has_link_work_.load(std::memory_order_relaxed) ||
        is_link_fed_.load(std::memory_order_relaxed)) {
        done += hand_to_link();
    }
    link_ended_.clear();
    if (!link_->turn(link_ended_)) {
        return done;
    }
    return done + 1 + take_link_ends() + hand_to_link();  // there may be room now
}

std::uint32_t Gma::hand_to_link() {
    std::uint64_t handed = 0;
    {
        const std::scoped_lock lock(mutex_);
        has_link_work_.store(false, std::memory_order_relaxed);
        is_link_fed_.store(false, std::memory_order_relaxed);
        if (to_remote_.is_empty()) {
            return 0;
        }
        handed = is_gateway_dead() ? fail_collected() : hand_collected();
        if (handed == 0) {
            return 0;
        }
        release();
        want_service();
    }
    link_->flush();
    return static_cast<std::uint32_t>(handed);
}

// How many of the collected commands the link has taken; they are in the list no more.
std::uint64_t Gma::hand_collected() {
    std::array<memory::NumberedCommand, handed_at_once_max> run;
    std::uint64_t handed = 0;
    std::uint64_t bytes = 0;
    std::size_t taken = 0;
    std::size_t count = 0;
    do {
        count = std::min<std::uint64_t>(run.size(), to_remote_.count);
        std::uint64_t number = to_remote_.first;
        for (std::size_t i = 0; i < count; ++i, number = queue_.after(number)) {
            run[i] = {number, &queue_.command(number)};
        }
        taken = link_->submit_all({run.data(), count});
        for (std::size_t i = 0; i < taken; ++i) {
            bytes += run[i].command->bytes;
            (void)queue_.take_first(to_remote_);
        }
        handed += taken;
    } while (taken == run.size());
    under_way_ += handed;
    count_remote(handed, bytes);
    return handed;
}

std::uint64_t Gma::fail_collected() {
    const std::uint64_t count = to_remote_.count;
    while (!to_remote_.is_empty()) {
        const std::uint64_t number = queue_.take_first(to_remote_);
        queue_.finish(number, no_gateway(queue_.command(number)), ready_);
    }
    return count;
}

std::uint32_t Gma::take_link_ends() {
    if (link_ended_.empty()) {
        return 0;
    }
    const std::scoped_lock lock(mutex_);
    for (const remote::Ended& ended : link_ended_) {
        under_way_ -= ended.count;
        if (ended.code == base::Code::ok && !trace_ &&
            queue_.finish_oldest(ended.token, ended.count)) [[likely]] {
            continue;
        }
        for (std::uint32_t i = 0; i < ended.count; ++i) {
            const std::uint64_t number = ended.token + 2 * std::uint64_t{i};
            if (!queue_.is_ready(number)) {
                continue;  // it ended already, by a death
            }
            const Command& command = queue_.command(number);
            base::Status status;
            if (ended.code != base::Code::ok) {
                status = remote_failure(command, ended);
            } else if (trace_) {
                trace_->record(command, "remote", space_.rank());
            }
            queue_.finish(number, std::move(status), ready_);
        }
    }
    release();
    want_service();
    return static_cast<std::uint32_t>(link_ended_.size());
}

// What has ended needs a thread of ours at once when something waits for it, or for room.
void Gma::want_service() noexcept {
    if (link_ == nullptr) {
        return;
    }
    const bool is_wanted = !may_waiter_forward_ || queue_.waiting() != 0 || !to_remote_.is_empty();
    if (is_wanted == is_service_wanted_.load(std::memory_order_relaxed)) {
        return;
    }
    is_service_wanted_.store(is_wanted, std::memory_order_seq_cst);  // partner: has_link_task()
    link_->set_service_wanted(is_wanted);
    if (is_wanted && link_->has_news()) {  // it came before anybody was wanted
        notify();
    }
}

bool Gma::is_gateway_dead() const noexcept {
    return node::is_dead(space_.segment(), space_.segment().gateway_slot());
}

void Gma::on_gateway_death() {
    const std::scoped_lock lock(mutex_);
    to_remote_ = {};  // each of them is ended below
    const std::uint64_t issued = queue_.issued();
    for (std::uint64_t number = queue_.done() + 2; number <= issued; number += 2) {
        if (queue_.is_ready(number) && is_far(queue_.command(number))) {
            queue_.finish(number, no_gateway(queue_.command(number)), ready_);
        }
    }
    release();
    want_service();
}

base::Status Gma::no_gateway(const Command& command) const {
    return base::Status::worded(base::Code::peer, [&] {
        return std::string(name_of(command)) + " by rank " + std::to_string(space_.rank()) + ": " +
               node::fate(space_.segment(), space_.segment().gateway_slot()) +
               ", so no other node can be reached";
    });
}

std::string Gma::where_is(GlobalAddress address) const {
    const node::Segment& segment = space_.segment();
    const auto process = static_cast<std::uint32_t>(space_.layout().process(address));
    return "rank " + std::to_string(segment.rank_of(process)) + " is on " +
           node::node_name(segment, node::NodeTable(segment).node_of(process));
}

base::Status Gma::remote_failure(const Command& command, const remote::Ended& ended) const {
    return base::Status::worded(ended.code, [&] { return remote_failure_text(command, ended); });
}

std::string Gma::remote_failure_text(const Command& command, const remote::Ended& ended) const {
    const node::Segment& segment = space_.segment();
    const std::string who = std::string(name_of(command)) + " by rank " +
                            std::to_string(space_.rank()) + " on " + os::host_name() + ": ";
    if (ended.code == base::Code::peer) {
        return who + node::fate_of_process(segment, ended.process, ended.fate);
    }
    if (ended.end == 0) {
        return who + "the way between the nodes failed: " + where_is(command.source) + ", " +
               where_is(command.target) + ": " + base::phrase(ended.code);
    }
    const GlobalAddress address = ended.end == 1 ? command.target : command.source;
    std::string what = base::phrase(ended.code);
    if (ended.code == base::Code::address) {
        what = "no memory is registered there";
    } else if (ended.code == base::Code::stale) {
        what = "that memory was unregistered";
    } else if (ended.code == base::Code::alignment) {
        what = "it is no multiple of " + std::to_string(command.width);
    }
    return who + "the " + (ended.end == 1 ? "target" : "source") + " is " +
           space_.explain(address, command.bytes) + "; " + where_is(address) + ": " + what;
}

}  // namespace acp::gma
