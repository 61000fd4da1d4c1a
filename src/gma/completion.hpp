// SPDX-License-Identifier: BSD-3-Clause
// Completion of commands: threads wait here for the prefix of a handle, make progress while they
// wait, and get its failures. A thread that waits is counted in the process's door, so that other
// processes ring it and not the service thread. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/status.hpp"
#include "gma/commands_end.hpp"
#include "gma/condition.hpp"
#include "gma/deadline.hpp"
#include "gma/progress.hpp"
#include "gma/service_thread.hpp"
#include "gma/shown_wait.hpp"
#include "gma/under_way.hpp"
#include "local/space.hpp"
#include "node/member.hpp"
#include "node/unreported.hpp"

namespace acp::gma {

class Completion {
public:
    //   all  must outlive this
    Completion(node::Member& member,
               Commands& commands,
               Progress& progress,
               ServiceThread& service,
               ServiceSleep& service_sleep) noexcept;

    // Waits until the prefix of a handle has ended. ok, timeout, interrupted, or the first failure
    // of the prefix that was not yet reported. A wait with a timeout may end late: its thread first
    // finishes the piece of a copy that it is moving (JobRunner).   timeout_ns  0: only look; < 0:
    // for ever
    base::Status wait(Handle handle, std::int64_t timeout_ns, bool is_interruptible);

    // Waits for the command of a handle and for no other. ok, or its failure, which counts as
    // reported.
    base::Status wait_for_one(Handle handle);

    // Whether the command of a handle, and no other, has ended, or ends within the timeout.
    // timeout_ns  0: only looks, and makes no progress
    [[nodiscard]] bool has_ended(Handle handle, std::int64_t timeout_ns);

    // Waits until no outstanding command of the prefix of a handle reads memory of this process.
    // Its failures stay unreported.
    void wait_for_sources(Handle handle);

    // Waits for the end of a command, or of a prefix (CommandsEnd), whose failures stay to be
    // reported.
    //   what  as for CommandsEnd
    void wait_for_end(std::uint64_t number, CommandsEnd::AwaitedPart part, node::WaitFor what);

    // The operations in flight of layers above.
    [[nodiscard]] AllUnderWay& under_way() noexcept { return under_way_; }

    // Waits until a condition holds. The waiting thread makes progress on commands, as in wait(),
    // and on the operations that layers above have in flight. timeout_ns as in wait().
    //   shown  the wait that this call is a part of; nullptr: the call is the whole wait
    node::Outcome wait_until(Condition& condition,
                             std::int64_t timeout_ns,
                             bool is_interruptible = false,
                             ShownWait* shown = nullptr);

    // Whether a thread of the process waits for commands or a condition, and has polled it a few
    // times in vain.
    [[nodiscard]] bool has_waiters() const noexcept {
        return waiters_.load(std::memory_order_relaxed) != 0;
    }

    // The thread is about to sleep outside the library until the bell of its process is rung: the
    // service thread does all work from now on.
    void leave_for_long() noexcept;

    // Counts the failures of a handle's prefix as reported.
    void drop_failures(Handle handle);

    // Waits for everything issued. Returns the failures that no call has reported, which count as
    // reported from then on.
    [[nodiscard]] node::Unreported finish_all();

    // Whether the prefix of a handle has ended. Makes progress once; does not block.
    [[nodiscard]] bool is_complete(Handle handle);

    // Waits until the oldest outstanding command has ended, in success or failure: a failure is
    // kept for the thread that waits for that command. The caller holds the lock of Commands; it is
    // released while this waits.
    void wait_for_oldest(std::unique_lock<std::mutex>& lock);

private:
    base::Status look(Handle handle);
    bool look_once(std::uint64_t number);
    base::Status wait_announced(std::uint64_t number,
                                std::int64_t timeout_ns,
                                Deadline deadline,
                                bool is_interruptible);
    node::Outcome attend(Condition& condition,
                         Deadline deadline = {},
                         bool is_interruptible = false,
                         ShownWait* shown = nullptr);
    base::Status take_failure(std::uint64_t number, bool is_exact);
    bool work_until(Condition& condition, Deadline deadline);

    node::Member& member_;
    Commands& commands_;
    Progress& progress_;
    ServiceThread& service_;
    ServiceSleep& service_sleep_;
    AllUnderWay under_way_;
    std::atomic<std::uint32_t> waiters_{0};  // threads in attend()
    os::MaskedFutexes masked_futexes_;       // sleeping threads that signal handlers may wake
};

}  // namespace acp::gma
