// SPDX-License-Identifier: BSD-3-Clause
// Implemented by pthread keys.
#include "os/thread_exit.hpp"

#include <climits>
#include <pthread.h>
#include <string>
#include <type_traits>
#include <utility>

namespace acp::os {

static_assert(std::is_same_v<pthread_key_t, unsigned>);

base::Result<ThreadExit> ThreadExit::create(void (*at_exit)(void*)) {
    ThreadExit made;
    if (pthread_key_create(&made.key_, at_exit) != 0) {
        return base::Status(base::Code::limit, "the process has used up its " +
                                                   std::to_string(PTHREAD_KEYS_MAX) +
                                                   " thread-specific keys (pthread_key_create)");
    }
    made.is_open_ = true;
    return made;
}

ThreadExit::ThreadExit(ThreadExit&& other) noexcept
    : is_open_(std::exchange(other.is_open_, false)), key_(other.key_) {}

ThreadExit& ThreadExit::operator=(ThreadExit&& other) noexcept {
    std::swap(is_open_, other.is_open_);
    std::swap(key_, other.key_);
    return *this;
}

ThreadExit::~ThreadExit() {
    if (is_open_) pthread_key_delete(key_);
}

bool ThreadExit::set(void* value) const noexcept {
    return is_open_ && pthread_setspecific(key_, value) == 0;
}

void* ThreadExit::get() const noexcept {
    return is_open_ ? pthread_getspecific(key_) : nullptr;
}

}  // namespace acp::os
