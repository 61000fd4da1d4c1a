// SPDX-License-Identifier: BSD-3-Clause
// Threads of ranks that contend for a lock. A test awaits what the lock's words show, and never a
// time: who waits, in which order, and who holds the lock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "sync/queued_lock.hpp"

#include "lock/locks.hpp"

namespace acp::lock::test {

inline constexpr std::int64_t for_ever = -1;
inline constexpr std::int64_t no_time = 0;
inline constexpr std::int64_t short_time = 1'000'000;

// A thread that makes one call after the other: as long as it lives it keeps its number among the
// threads of its rank, by which a lock knows its holder.
class CallingThread {
public:
    CallingThread() : thread_([this] { serve(); }) {}

    ~CallingThread() {
        begin(nullptr);
        thread_.join();
    }

    CallingThread(const CallingThread&) = delete;
    CallingThread& operator=(const CallingThread&) = delete;

    // Begins a call, when the one before has ended; nullptr ends the thread.
    void begin(std::function<void()> call) {
        end();
        const std::scoped_lock guard(mutex_);
        call_ = std::move(call);
        is_busy_ = true;
        changed_.notify_all();
    }

    // Waits for the end of the call.
    void end() {
        std::unique_lock guard(mutex_);
        changed_.wait(guard, [this] { return !is_busy_; });
    }

    void run(std::function<void()> call) {
        begin(std::move(call));
        end();
    }

private:
    void serve() {
        for (;;) {
            std::unique_lock guard(mutex_);
            changed_.wait(guard, [this] { return is_busy_; });
            const std::function<void()> call = call_;
            guard.unlock();
            if (call) call();
            guard.lock();
            is_busy_ = false;
            changed_.notify_all();
            if (!call) return;
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> call_;
    bool is_busy_ = false;
    std::thread thread_;
};

inline const std::string taken = "taken";
inline const std::string taken_from_dead = "taken from a rank that died";
inline const std::string not_taken = "not taken";

inline std::string text_of(const base::Result<TakeResult>& end) {
    if (!end.is_ok()) return std::string(end.failure().message());
    if (!end.value().has_lock) return not_taken;
    return end.value().has_died ? taken_from_dead : taken;
}

// A thread of a rank that takes a lock and releases it.
class Contender {
public:
    Contender(Locks& locks, GlobalAddress lock) : locks_(locks), lock_(lock) {}

    void begin_take(std::int64_t timeout_ns = for_ever) {
        thread_.begin([this, timeout_ns] { taken_ = locks_.take(lock_, timeout_ns, nullptr); });
    }

    // How the take ended: one of the texts above, or the message of its failure.
    std::string end() {
        thread_.end();
        return text_of(*taken_);
    }

    // The code of the take that has failed.
    base::Code failed() {
        thread_.end();
        return taken_->is_ok() ? base::Code::ok : taken_->failure().code();
    }

    std::string take(std::int64_t timeout_ns = for_ever) {
        begin_take(timeout_ns);
        return end();
    }

    base::Status release() {
        base::Status status;
        thread_.run([&] { status = locks_.release(lock_); });
        return status;
    }

    void release_well() {
        const base::Status status = release();
        EXPECT_TRUE(status.is_ok()) << status.message();
    }

    CallingThread& thread() { return thread_; }

private:
    Locks& locks_;
    GlobalAddress lock_;
    std::optional<base::Result<TakeResult>> taken_;
    CallingThread thread_;  // ends first
};

// The words of a lock, in memory that this process has mapped.
class LockWords {
public:
    //   space  of a process of the lock's node
    LockWords(const local::Space& space, GlobalAddress lock) {
        char* place = nullptr;
        EXPECT_TRUE(space.view().find_direct(lock, sizeof(sync::LockHead<>), place));
        head_ = reinterpret_cast<sync::LockHead<>*>(place);
    }

    [[nodiscard]] sync::LockState state() const { return sync::LockState(head_->state.load()); }

    [[nodiscard]] std::uint32_t holder() const { return state().holder(); }

    [[nodiscard]] std::uint32_t waiters() const { return state().waiters; }

    // Waits until the queue has this number of places in use.
    void await_waiters(std::uint32_t count) const {
        while (waiters() != count) std::this_thread::yield();
    }

    // Waits until a process holds the lock.
    void await_holder(std::uint32_t process) const {
        while (holder() != process) std::this_thread::yield();
    }

    // Waits until a thread of the process waits in the queue.
    void await_waiter(std::uint32_t process) const {
        while (!is_waiting(process)) std::this_thread::yield();
    }

    // The place of a waiter, 0 is the first one.
    [[nodiscard]] sync::LockPlace<>& place(std::uint32_t index = 0) const {
        const std::uint64_t mask = head_->places.load() - 1;
        return reinterpret_cast<sync::LockPlace<>*>(head_ + 1)[(state().head + index) & mask];
    }

    // Grants the first place, as a holder does that is stopped before it hands the lock over.
    void grant_first() const {
        sync::LockWaiter waiter(place().waiter.load());
        waiter.state = sync::LockWaiterState::granted;
        place().waiter.store(waiter.word());
    }

private:
    [[nodiscard]] bool is_waiting(std::uint32_t process) const {
        for (std::uint32_t i = 0; i < waiters(); ++i) {
            const sync::LockWaiter waiter(place(i).waiter.load());
            if (waiter.party.process == process && waiter.state == sync::LockWaiterState::waiting)
                return true;
        }
        return false;
    }

    sync::LockHead<>* head_ = nullptr;
};

}  // namespace acp::lock::test
