// SPDX-License-Identifier: BSD-3-Clause
// The device process's end of the system calls of one thread: hands each call to the executor and
// waits for its result, which is that of the kernel. Calls that the table leaves in the device process
// are made there. Long reads and writes go in pieces. One thread at a time, also from its signal
// handlers.
// Tests: tests/unit/worker/system_caller_test.cpp.
//
// SIGNALS. A handler of the program that runs while a call waits may make calls: those are made by
// the device process itself. A delegated call is not interrupted: it continues after the handler.
// SIGPIPE and SIGXFSZ, which a call raises, are raised in the calling thread.
//
// DEATH. After the end of the executor each call that is carried fails with EIO. The call that waits
// may have been made.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/adaptive_poll.hpp"
#include "os/fault_guard.hpp"
#include "os/guarded_memory.hpp"

#include "call/ring.hpp"
#include "call/system_call_pack.hpp"
#include "worker/system_call_memory.hpp"

namespace acp::worker {

class SystemCaller {
public:
    //   caller     its number; no other object has used the ring of that number
    //   has_ended  true once the executor has ended; the thread that sets it calls wake() next
    SystemCaller(const SystemCallMemory& memory,
                 std::uint32_t caller,
                 const std::atomic<bool>& has_ended) noexcept;

    // Makes the calling thread the one that makes calls.   guard  of that thread
    void begin_thread(os::FaultGuard& guard) noexcept { memory_.set_guard(guard); }

    // Makes a system call. Returns its result, or a negative errno; errno is unchanged. Blocks as
    // long as the call does.
    //   words  as the kernel takes them; addresses are checked as the kernel does
    [[nodiscard]] std::int64_t call(call::SystemCall call,
                                    const call::SystemCallWords& words) noexcept;

    // Wakes the thread in call() after the executor's end. Any thread.
    void wake() noexcept;

private:
    // What SystemCallPack needs, of the guard of the thread.
    class ThreadMemory {
    public:
        void set_guard(os::FaultGuard& guard) noexcept { guard_ = &guard; }

        std::uint64_t copy_in(void* to, std::uint64_t from, std::uint64_t bytes) noexcept {
            return os::GuardedMemory(*guard_).copy_in(to, from, bytes);
        }

        std::uint64_t copy_out(std::uint64_t to, const void* from, std::uint64_t bytes) noexcept {
            return os::GuardedMemory(*guard_).copy_out(to, from, bytes);
        }

        [[nodiscard]] std::uint64_t writable(std::uint64_t address, std::uint64_t bytes) noexcept {
            return os::GuardedMemory(*guard_).writable(address, bytes);
        }

    private:
        os::FaultGuard* guard_ = nullptr;
    };

    [[nodiscard]] std::int64_t call_once(call::SystemCall call,
                                         const call::SystemCallWords& words) noexcept;
    [[nodiscard]] std::int64_t call_in_pieces(call::SystemCall call,
                                              call::SystemCallWords words) noexcept;
    [[nodiscard]] std::int64_t carry() noexcept;
    [[nodiscard]] bool await_answer(std::uint64_t ticket) noexcept;
    [[nodiscard]] bool has_executor_ended() const noexcept;

    ThreadMemory memory_;
    call::SystemCallPack<ThreadMemory> pack_;
    call::RingClient<> ring_;
    SystemCallMemory::CallerHead& head_;
    const std::atomic<bool>& has_ended_;
    os::AdaptivePoll poll_;
    // Written by this thread and read by its signal handlers.
    std::atomic<bool> is_calling_{false};
};

}  // namespace acp::worker
