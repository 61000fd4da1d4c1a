// SPDX-License-Identifier: BSD-3-Clause
// Stages, posts, waits, fetches.
#include "worker/system_caller.hpp"

#include <algorithm>
#include <cerrno>

#include "base/fence.hpp"
#include "os/futex.hpp"
#include "os/system_call.hpp"

namespace acp::worker {

using call::Delegation;
using call::SystemCall;
using call::SystemCallWords;

namespace {

[[nodiscard]] bool is_read(SystemCall call) noexcept {
    return call == SystemCall::read || call == SystemCall::pread64;
}

[[nodiscard]] bool is_write(SystemCall call) noexcept {
    return call == SystemCall::write || call == SystemCall::pwrite64;
}

[[nodiscard]] bool has_offset(SystemCall call) noexcept {
    return call == SystemCall::pread64 || call == SystemCall::pwrite64;
}

}  // namespace

SystemCaller::SystemCaller(const SystemCallMemory& memory,
                           std::uint32_t caller,
                           const std::atomic<bool>& has_ended) noexcept
    : pack_(memory.staging(caller), memory_),
      ring_(memory.ring(caller)),
      head_(memory.head(caller)),
      has_ended_(has_ended) {}

std::int64_t SystemCaller::call(SystemCall call, const SystemCallWords& words) noexcept {
    // relaxed: only this thread writes it
    if (is_calling_.load(std::memory_order_relaxed))
        return os::system_call(call::number_of(call), words);
    is_calling_.store(true, std::memory_order_relaxed);
    const int error_before = errno;
    // A handler that interrupts the thread from here on finds it set.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const bool is_long = (is_read(call) || is_write(call)) &&
                         words[2] > call::system_call_piece_bytes &&
                         !call::is_beyond_programs(words[1], words[2]);
    const std::int64_t result = is_long ? call_in_pieces(call, words) : call_once(call, words);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_calling_.store(false, std::memory_order_relaxed);
    errno = error_before;
    // relaxed: the answer has acquired it
    const std::uint32_t signal = head_.signal.exchange(0, std::memory_order_relaxed);
    if (signal != 0) os::send_signal_to_this_thread(static_cast<int>(signal));
    return result;
}

// Ends where the kernel's own loop would: at the first piece that is not whole. Only a file with
// positions is read further: the second piece would wait for the next bytes of a pipe, where one call
// of the kernel returns the bytes that are there.
std::int64_t SystemCaller::call_in_pieces(SystemCall call, SystemCallWords words) noexcept {
    const std::uint64_t bytes = std::min(words[2], call::transfer_bytes_max);
    std::uint64_t done = 0;
    for (;;) {
        words[2] = bytes - done;
        const std::int64_t result = call_once(call, words);
        if (result < 0) return done == 0 ? result : static_cast<std::int64_t>(done);
        const auto moved = static_cast<std::uint64_t>(result);
        const std::uint64_t piece = pack_.record().words[2];
        done += moved;
        if (moved != piece || done == bytes) return static_cast<std::int64_t>(done);
        constexpr std::uint64_t from_here = 1;  // SEEK_CUR
        if (done == moved && call == SystemCall::read &&
            call_once(SystemCall::lseek, {words[0], 0, from_here, 0, 0, 0}) < 0) {
            return static_cast<std::int64_t>(done);
        }
        words[1] += moved;
        if (has_offset(call)) words[3] += moved;
    }
}

std::int64_t SystemCaller::call_once(SystemCall call, const SystemCallWords& words) noexcept {
    switch (pack_.stage(call, words)) {
        case Delegation::carried:
            return carry();
        case Delegation::refused:
            return -ENOSYS;
        case Delegation::staying:
            break;
    }
    const std::int64_t number = call::number_of(call);
    return number < 0 ? -ENOSYS : os::system_call(number, words);
}

std::int64_t SystemCaller::carry() noexcept {
    if (has_executor_ended()) return -EIO;
    const auto posted = ring_.post(call::request_of(pack_.record()));
    if (!posted) return -EIO;  // the executor ended while it had the slot
    if (posted->is_server_asleep)
        (void)os::futex_wake(ring_.head().server_bell.word(), os::everybody);
    if (!await_answer(posted->ticket)) return -EIO;
    const auto answer = ring_.take();
    if (answer->outcome != call::CallEnd::returned) return -ENOSYS;
    const auto result = static_cast<std::int64_t>(answer->result);
    return pack_.fetch(result) ? result : -EFAULT;
}

// false: the executor has ended without an answer.
bool SystemCaller::await_answer(std::uint64_t ticket) noexcept {
    const auto is_over = [&] { return ring_.is_answered(ticket) || has_executor_ended(); };
    const auto poll = [&] {
        if (head_.is_on_cpu_of(head_.executor_cpu, head_.caller_cpu)) return is_over();
        return poll_.poll(is_over);
    };
    while (!poll()) {
        auto& bell = ring_.head().client_bell;
        const std::uint32_t value = bell.announce();
        // seq_cst: the poll below comes after the announcement; partners: RingServer::answer() and
        // wake()
        base::fence(std::memory_order_seq_cst);
        if (is_over()) break;
        (void)os::futex_wait(bell.word(), value, -1);
    }
    return ring_.is_answered(ticket);
}

bool SystemCaller::has_executor_ended() const noexcept {
    // acquire: partner is the store before wake(); the executor's answers precede its end
    return has_ended_.load(std::memory_order_acquire);
}

void SystemCaller::wake() noexcept {
    auto& bell = ring_.head().client_bell;
    // seq_cst: the store of has_ended comes before; partner: await_answer()
    base::fence(std::memory_order_seq_cst);
    (void)bell.ring();
    (void)os::futex_wake(bell.word(), os::everybody);
}

}  // namespace acp::worker
