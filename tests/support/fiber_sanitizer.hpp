// SPDX-License-Identifier: BSD-3-Clause
// Reports a change of stacks to AddressSanitizer and ThreadSanitizer; no code in other builds.
// Called by the thread that changes stacks.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ACP_TEST_ASAN 1
#elif __has_feature(thread_sanitizer)
#define ACP_TEST_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ACP_TEST_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define ACP_TEST_TSAN 1
#endif

#if defined(ACP_TEST_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#elif defined(ACP_TEST_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace acp::test::sched {

#if defined(ACP_TEST_ASAN) || defined(ACP_TEST_TSAN)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

// One stack as the sanitizer knows it: a fiber's after open(), else the thread's own.
struct FiberMark {
    // Unpoisons the stack, which may hold frames of a killed fiber that were not unwound.
    void open([[maybe_unused]] void* stack, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ACP_TEST_ASAN)
        bottom = stack;
        size = bytes;
        ASAN_UNPOISON_MEMORY_REGION(stack, bytes);
#elif defined(ACP_TEST_TSAN)
        handle = __tsan_create_fiber(0);
#endif
    }

    void close() noexcept {
#if defined(ACP_TEST_TSAN)
        __tsan_destroy_fiber(handle);
#endif
    }

#if defined(ACP_TEST_ASAN)
    const void* bottom = nullptr;
    std::size_t size = 0;
    void* fake_stack = nullptr;
#elif defined(ACP_TEST_TSAN)
    void* handle = nullptr;
#endif
};

// While it lives, the leak check ignores what the thread allocates: memory of a killed fiber is not
// freed.
class LeaksAllowed {
public:
    //   is_on  false: no effect
    explicit LeaksAllowed([[maybe_unused]] bool is_on) noexcept {
#if defined(ACP_TEST_ASAN)
        is_on_ = is_on;
        if (is_on_) __lsan_disable();
#endif
    }

    ~LeaksAllowed() {
#if defined(ACP_TEST_ASAN)
        if (is_on_) __lsan_enable();
#endif
    }

    LeaksAllowed(const LeaksAllowed&) = delete;
    LeaksAllowed& operator=(const LeaksAllowed&) = delete;

#if defined(ACP_TEST_ASAN)
private:
    bool is_on_ = false;
#endif
};

// Call right before the change from one stack to another.
inline void start_switch([[maybe_unused]] FiberMark& from,
                         [[maybe_unused]] FiberMark& to) noexcept {
#if defined(ACP_TEST_ASAN)
    __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
#elif defined(ACP_TEST_TSAN)
    if (from.handle == nullptr) from.handle = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.handle, 0);
#endif
}

// Call right after the change, on the new stack.
//   own   the new stack
//   left  the stack before
inline void finish_switch([[maybe_unused]] FiberMark& own,
                          [[maybe_unused]] FiberMark& left) noexcept {
#if defined(ACP_TEST_ASAN)
    __sanitizer_finish_switch_fiber(own.fake_stack, &left.bottom, &left.size);
#endif
}

}  // namespace acp::test::sched
