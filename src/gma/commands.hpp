// SPDX-License-Identifier: BSD-3-Clause
// The commands of one process that could not run at once, with the lock that guards them. Carriers
// take commands out of their own lists and finish them here. Commands that become ready by that are
// put into `ready`; Progress gives each of them to a carrier before it releases the lock.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"
#include "gma/command_queue.hpp"
#include "gma/local_ends.hpp"
#include "node/member.hpp"
#include "os/process.hpp"

namespace acp::gma {

using memory::Command;

// "acp_copy", "acp_cas4", ...: the call that a command stands for.
[[nodiscard]] inline std::string_view name_of(const Command& command) noexcept {
    return memory::call_name(command);
}

// " by rank 2 on host"
[[nodiscard]] inline std::string by_rank(std::uint32_t rank) {
    return " by rank " + std::to_string(rank) + " on " + os::host_name();
}

// "acp_copy by rank 2 on host": what the message of a failed command begins with.
[[nodiscard]] inline std::string subject_of(const Command& command, std::uint32_t rank) {
    return std::string(name_of(command)) + by_rank(rank);
}

struct Commands {
    //   member  this process: messages name its rank, its slot shows its failures; must outlive
    //           this
    //   ends    loans memory to commands; must outlive this
    Commands(Marks& marks, const node::Member& member, LocalEnds& ends)
        : queue(marks, by_rank(member.rank())), local_ends(ends), member_(member) {
        queue.failures().show_in({member.segment(), member.slot_index()});
    }

    // A ready command ended; it is in no list. The lock is held.
    void finish(std::uint64_t number, base::Status status) noexcept {
        if (queue.loans().lent() != 0) [[unlikely]] {
            finish_with_loans(number, std::move(status));
        } else {
            queue.finish(number, std::move(status), ready);
        }
    }

    // The order of each command of a list that one call issues; nothing: none of them runs. The
    // lock is not held.
    [[nodiscard]] std::optional<Handle> order_of_list(Handle order) {
        const std::scoped_lock lock(mutex);
        return queue.is_failed(order) ? std::nullopt : std::optional(queue.fixed(order));
    }

    // Takes back the loans of commands that ended without having become ready. The lock is held.
    void take_lapsed_loans() noexcept {
        if (queue.loans().has_lapsed()) [[unlikely]]
            give_back_lapsed();
    }

    // A command as its call was given it: an end that is a plain pointer of the caller is that in
    // place of an address (memory::pointer_end_of). The lock is held.
    [[nodiscard]] Command as_written(const Command& command) noexcept;

    // The first outstanding command behind `after`, up to `last`, that reads memory of this
    // process; 0: none. The lock is held.
    [[nodiscard]] std::uint64_t next_reader(std::uint64_t after, std::uint64_t last) const noexcept;

    // The program has waited for the sources of the puts up to `last` (acp_wait_source) and may
    // change them: ACP_CHECK compares them once more and no longer watches them. The lock is held.
    void end_watch_of_sources(std::uint64_t last) noexcept;

    std::mutex mutex;  // guards the rest, and the lists of the carriers
    CommandQueue queue;
    CommandList ready;  // empty but while the lock is held
    LocalEnds& local_ends;

private:
    void finish_with_loans(std::uint64_t number, base::Status status) noexcept;
    void give_back_lapsed() noexcept;

    const node::Member& member_;
};

}  // namespace acp::gma
