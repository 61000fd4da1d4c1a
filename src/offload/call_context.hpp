// SPDX-License-Identifier: BSD-3-Clause
// A context of a worker process, as its owner knows it: calls begin in the order in which they were
// posted, and have numbers by which any thread waits for their results, in any order. Buffers are
// copied when a call is posted, and back when a thread first sees its answer. Any thread.
// Tests: tests/unit/offload/worker_process_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "base/status.hpp"
#include "offload/call_result.hpp"
#include "offload/command_call.hpp"
#include "offload/worker_end.hpp"

#include "call/arguments.hpp"
#include "call/ring.hpp"
#include "call/staging.hpp"
#include "call/worker_memory.hpp"

namespace acp::offload {

using base::Result;
using base::Status;

// The memory of one context.
struct ContextMemory {
    call::RingView<> ring;
    std::byte* staging = nullptr;  // worker_staging_bytes
    int file = -1;                 // of the staging memory, whose pages are committed before use
    std::uint64_t file_offset = 0;
};

// The bells of the rank that its threads sleep on when they wait for calls that are commands.
struct OwnerBells {
    sync::Bell<>* waiters = nullptr;
    sync::Bell<>* call_thread = nullptr;
};

class CallContext {
public:
    //   memory  of a ring that no client has used
    //   worker  must outlive this
    CallContext(std::uint32_t number, const ContextMemory& memory, const WorkerEnd& worker)
        : number_(number),
          memory_(memory),
          worker_(worker),
          ring_(memory.ring),
          staging_(call::worker_staging_bytes) {}

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

    // Posts a call; returns its number, from 1. Waits for room while as many calls as the ring has
    // slots are in flight, or their buffers fill the staging memory.
    //   arguments  copied, with the contents of `in` buffers; memory of `out` buffers must stay
    //              until a thread has got the call's result
    // Errors: peer (the worker has ended), stale (the context was closed), limit (results_max
    // calls are in flight or have results that were not taken), memory.
    Result<std::uint64_t> post(call::WorkerOperation operation,
                               std::uint64_t target,
                               const call::CallArguments& arguments);

    // Waits for a call, and takes its result, once. Blocks.
    // Errors: stale (no such call, or its result was taken).
    Result<CallResult> wait(std::uint64_t call);

    // wait() without waiting: nullopt if the call has not ended.
    Result<std::optional<CallResult>> test(std::uint64_t call);

    // Cancels a call that has not begun: its function will not run, and wait() returns
    // CallEnd::cancelled. Errors: stale, as wait().
    Result<call::Cancel> cancel(std::uint64_t call);

    // Waits for all calls that were posted. Blocks.
    void drain();

    // Fails later posts with `stale`, waits for all calls, and ends the worker's thread. Blocks.
    // Errors: stale (closed before), peer (the worker has ended; the context is closed).
    Status close();

    // Wakes all threads that wait, for the thread that reports the worker's end.
    void wake_all() noexcept;

    // Calls that are commands (command_call.hpp), for DeviceCalls. Those that return calls have ended
    // these, whatever call of the context their answers were taken in.

    // Before the first command: threads that wait for commands announce themselves on these bells.
    //   bells  in the memory that begins at `device` here, and that the worker has mapped
    void join_commands(const OwnerBells& bells, const char* device) noexcept;

    [[nodiscard]] bool is_joined() const noexcept {
        return is_joined_.load(std::memory_order_acquire);  // partner: join_commands()
    }

    // The bells are no more.
    void leave_commands() noexcept;

    // Posts a call, or keeps it until the ring has room.
    CommandCallList begin(CommandCall& call) noexcept;

    CommandCallList poll() noexcept;

    // Whether poll() has something to do. Without a lock.
    [[nodiscard]] bool has_news() const noexcept;

    // A thread that has announced itself on a bell of the rank sleeps next: the next answer rings.
    void announce_sleep() noexcept;

    // RingClient::cancel() of a ticket, `cancelled` only. Without a lock.
    [[nodiscard]] bool cancel_ticket(std::uint64_t ticket) noexcept {
        return ring_.cancel(ticket) == call::Cancel::cancelled;
    }

    // Counts the commands that name this context.
    void count_command(int change) noexcept {
        commands_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_acq_rel);
    }

    [[nodiscard]] bool is_closed() const;

    // Whether it was closed, and no command names it.
    [[nodiscard]] bool is_over() const;

    [[nodiscard]] const WorkerEnd& worker() const noexcept { return worker_; }

    static constexpr std::size_t results_max = 65'536;

    // Staging memory that the context keeps when no call is in flight; it gives back what calls with
    // longer buffers needed beyond it. To commit pages again takes about as long as to copy as many
    // bytes.
    static constexpr std::uint64_t staging_kept_bytes = std::uint64_t{4} << 20U;

private:
    // A call whose result was not taken.
    struct Record {
        std::uint64_t staged_end;
        const std::byte* staged;
        call::CallArguments arguments;
        std::optional<CallResult> result;  // once the call has ended
    };

    // Whether post() checks that the context is open.
    enum class Posting : std::uint8_t { of_users, of_close };

    Result<std::uint64_t> post_call(Posting posting,
                                    call::WorkerOperation operation,
                                    std::uint64_t target,
                                    const call::CallArguments& arguments);
    [[nodiscard]] Status check_open(Posting posting) const;
    void take_answers() noexcept;
    void end_command(CommandCall& command, const CallResult& ended) noexcept;
    void fail_command(CommandCall& command, Status failure) noexcept;
    void end_commands_of_dead() noexcept;
    void post_waiting() noexcept;
    bool post_command(CommandCall& command) noexcept;
    void note_awaited() noexcept;
    [[nodiscard]] CommandCallList take_ended() noexcept;
    Status commit_staging(std::uint64_t end);
    void give_back_staging(std::uint64_t kept) noexcept;
    void wake_server(const call::Posted& posted) noexcept;
    void sleep_until_answered(std::uint64_t ticket) const;

    const std::uint32_t number_;
    const ContextMemory memory_;
    const WorkerEnd& worker_;
    mutable std::mutex mutex_;  // guards the following, but for RingClient::is_answered()
    call::RingClient<> ring_;
    call::Staging staging_;
    std::uint64_t committed_bytes_ = 0;      // prefix of the staging memory
    std::map<std::uint64_t, Record> calls_;  // keys: numbers of calls
    bool is_closed_ = false;
    // Calls that are commands, by the slot of their ticket; nullptr: another call, or none.
    std::array<CommandCall*, call::worker_slots> commands_at_{};
    CommandCallList waiting_;  // those without room in the ring
    CommandCallList ended_;    // those that no thread has taken
    OwnerBells bells_;
    std::atomic<bool> is_joined_{false};
    std::atomic<bool> has_ended_{false};     // ended_ has some
    std::atomic<std::uint64_t> awaited_{0};  // 1 + ticket of the oldest call in flight; 0: none
    std::atomic<std::uint32_t> commands_{0};
};

}  // namespace acp::offload
