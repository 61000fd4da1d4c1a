// SPDX-License-Identifier: BSD-3-Clause
// A sleep on a futex word that unblocks signals and falls asleep in one step, like ppoll for
// descriptors: a handler that runs during the sleep always ends it, and no handler runs between the
// sleep and the steps before and after it. The futex system call takes no mask. But ppoll does, and
// a ring of io_uring, on which ppoll waits, can wait for a futex word since Linux 6.7. A process
// that is stopped and continued continues to sleep. create() fails on older kernels, and where
// io_uring is forbidden (seccomp, sysctl io_uring_disabled). One thread at a time uses a
// MaskedFutex; any thread the pool.
// Tests: tests/unit/os/signal_gate_test.cpp.
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

    // futex_wait() with this signal mask during the sleep. The caller has blocked all signals that
    // the mask does not, here and in end_wait().
    Wake wait(const std::atomic<std::uint32_t>& word,
              std::uint32_t expected,
              std::int64_t timeout_ns,
              const sigset_t& mask) noexcept;

    // Call before the memory of the word is freed: cancels the wait that an earlier wait() has left
    // in the kernel when it returned because of its timeout or a handler.
    void end_wait() noexcept;

    // After a wait: whether the program has closed or replaced the descriptor. Then the wait did
    // not sleep, and later ones do not.
    [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

private:
    struct Rings;  // the rings that the kernel and this process share

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
    char* entries_ = nullptr;  // the submission entries
    std::size_t entries_bytes_ = 0;
    std::unique_ptr<Rings> places_;
    bool is_broken_ = false;
};

// A pool: the MaskedFutexes of a process, made when a thread first needs one, and kept for the next
// thread.
class MaskedFutexes {
public:
    // nullptr: the kernel offers none, or there are no descriptors or no memory for it.
    [[nodiscard]] std::unique_ptr<MaskedFutex> take() noexcept;
    void give_back(std::unique_ptr<MaskedFutex> used) noexcept;

private:
    // Most that are kept while no thread uses them: each has a descriptor and some pages.
    static constexpr std::size_t kept_max = 16;

    std::mutex mutex_;
    std::vector<std::unique_ptr<MaskedFutex>> kept_;
    bool is_refused_ = false;  // the kernel offers none
};

}  // namespace acp::os
