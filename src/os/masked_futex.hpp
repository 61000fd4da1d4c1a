// SPDX-License-Identifier: BSD-3-Clause
// A sleep on a futex word that lets signals in and falls asleep in one step, as ppoll does for descriptors: a handler that runs during the sleep
// always ends it, and none runs before or after it. The futex system call takes no mask; ppoll on a ring of io_uring does, which can wait for a
// futex word since Linux 6.7. A process that is stopped and continued sleeps on. Where the kernel is older or forbids it (seccomp, sysctl io_uring_disabled) there is none.
// One thread at a time uses a MaskedFutex; any thread the pool. Tests: tests/unit/os/signal_gate_test.cpp.
#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "os/file_descriptor.hpp"
#include "os/futex.hpp"

namespace acp::os {

class MaskedFutex {
public:
    // nullptr: the kernel offers none, or there are no descriptors or no memory for it.
    static std::unique_ptr<MaskedFutex> create() noexcept;

    ~MaskedFutex();
    MaskedFutex(const MaskedFutex&) = delete;
    MaskedFutex& operator=(const MaskedFutex&) = delete;

    // As futex_wait(), with this mask of signals while it sleeps. The caller holds back all signals that the mask lets in, also in end_wait().
    Wake wait(const std::atomic<std::uint32_t>& word,
              std::uint32_t expected,
              std::int64_t timeout_ns,
              const sigset_t& mask) noexcept;

    // The word may go: a wait that ended by its time or by a handler had gone on in the kernel, for the next one.
    void end_wait() noexcept;

    // After a wait: the program has closed or replaced the descriptor; the wait did not sleep, and no other will.
    [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

private:
    struct Rings;  // where the kernel and this process meet

    MaskedFutex() noexcept = default;
    [[nodiscard]] bool open() noexcept;
    [[nodiscard]] bool can_wait() noexcept;
    void push(unsigned char operation,
              std::uint64_t address,
              std::uint64_t expected,
              std::uint64_t number) noexcept;
    [[nodiscard]] bool submit() noexcept;
    [[nodiscard]] int await_end(std::int64_t timeout_ns, const sigset_t* mask) noexcept;
    [[nodiscard]] bool take_end(std::uint64_t number, int& result) noexcept;
    void cancel() noexcept;

    FileDescriptor descriptor_;
    char* rings_ = nullptr;  // both in one mapping
    std::size_t rings_bytes_ = 0;
    char* entries_ = nullptr;  // what is submitted
    std::size_t entries_bytes_ = 0;
    std::unique_ptr<Rings> places_;
    bool is_broken_ = false;
};

// Those of a process, which are made when a thread first needs one and kept for the next.
class MaskedFutexes {
public:
    // nullptr: there is none for this thread.
    [[nodiscard]] std::unique_ptr<MaskedFutex> take() noexcept;
    void give_back(std::unique_ptr<MaskedFutex> used) noexcept;

private:
    // More threads at once sleep without: each costs a descriptor and some pages.
    static constexpr std::size_t kept_max = 16;

    std::mutex mutex_;
    std::vector<std::unique_ptr<MaskedFutex>> kept_;
    bool is_refused_ = false;  // the kernel offers none
};

}  // namespace acp::os
