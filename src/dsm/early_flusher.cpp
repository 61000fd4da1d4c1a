// SPDX-License-Identifier: BSD-3-Clause
// The thread, and its orders.
#include "dsm/early_flusher.hpp"

#include <algorithm>
#include <utility>

namespace acp::dsm {

namespace {

// The pages of both ranges, and those between them.
PageRange hull_of(PageRange one, PageRange other) noexcept {
    if (one.count == 0) return other;
    const pages::PageNumber first = std::min(one.first, other.first);
    return {first, std::max(one.first + one.count, other.first + other.count) - first};
}

}  // namespace

EarlyFlusher::~EarlyFlusher() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    has_changed_.notify_all();
    thread_.join();
}

void EarlyFlusher::begin(PageRange pages) {
    {
        const std::lock_guard lock(mutex_);
        if (has_thread()) {
            pending_ = hull_of(pending_, pages);
            pages = {};
        }
    }
    if (pages.count == 0) {
        has_changed_.notify_all();
    } else {
        (void)flusher_.flush(pages);
    }
}

// Makes the thread, unless there is one. While the caller has the mutex.
bool EarlyFlusher::has_thread() {
    if (is_running_) return true;
    thread_.join();
    auto thread = os::Thread::start("acp-flush", [this] { run(); });
    if (thread.is_ok()) thread_ = std::move(thread).value();
    is_running_ = thread.is_ok();
    return is_running_;
}

void EarlyFlusher::finish() noexcept {
    std::unique_lock lock(mutex_);
    has_changed_.wait(lock, [this] { return pending_.count == 0 && !is_flushing_; });
}

void EarlyFlusher::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        has_changed_.wait_for(lock, idle_max,
                              [this] { return pending_.count != 0 || is_stopping_; });
        if (pending_.count == 0) {
            is_running_ = false;
            return;
        }
        const PageRange pages = std::exchange(pending_, {});
        is_flushing_ = true;
        lock.unlock();
        (void)flusher_.flush(pages);
        lock.lock();
        is_flushing_ = false;
        has_changed_.notify_all();
    }
}

}  // namespace acp::dsm
