// SPDX-License-Identifier: BSD-3-Clause
// Fibers by the C library's contexts. Each switch is reported to the sanitizers, which track the
// stack of each thread.
#include "os/fiber.hpp"

#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <sys/mman.h>
#include <ucontext.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#include "base/assert.hpp"
#include "os/mapping.hpp"
#include "os/system_error.hpp"

namespace acp::os {

struct Fiber::State {
    // One side of a switch: a thread that resumes, or the fiber.
    struct Side {
        ucontext_t context{};
#if defined(__SANITIZE_ADDRESS__)
        void* fake_stack = nullptr;
        const void* bottom = nullptr;
        std::size_t bytes = 0;
#endif
#if defined(__SANITIZE_THREAD__)
        void* fiber = nullptr;
#endif
    };

    // The first function that runs on a side after a switch to it.
    static void arrive([[maybe_unused]] Side& here, [[maybe_unused]] Side& from) noexcept {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_finish_switch_fiber(here.fake_stack, &from.bottom, &from.bytes);
#endif
    }

    static void switch_to(Side& from, Side& to) noexcept {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
#endif
#if defined(__SANITIZE_THREAD__)
        __tsan_switch_to_fiber(to.fiber, 0);
#endif
        if (swapcontext(&from.context, &to.context) != 0) std::abort();
        arrive(from, to);
    }

    Mapping memory;
    Side resumer;
    Side fiber;
    std::function<void()> function;
    bool is_under_way = false;
    // the rounding mode and floating-point traps of the thread that resumes
    femode_t rounding{};

    // The function continues with the signal mask and the floating-point modes of the thread that
    // resumes it, which may be another thread than before.
    void enter() noexcept {
        (void)pthread_sigmask(SIG_BLOCK, nullptr, &fiber.context.uc_sigmask);
        (void)fegetmode(&rounding);
#if defined(__SANITIZE_THREAD__)
        resumer.fiber = __tsan_get_current_fiber();
#endif
        switch_to(resumer, fiber);
    }

    // Runs on the fiber's stack: one function after the other. Does not return.
    [[noreturn]] void run() noexcept {
        arrive(fiber, resumer);
        (void)fesetmode(&rounding);
        for (;;) {
            function();
            function = nullptr;
            is_under_way = false;
            leave();
        }
    }

    void leave() noexcept {
        switch_to(fiber, resumer);
        (void)fesetmode(&rounding);
    }

    // makecontext passes numbers of 32 bits.
    static void main(unsigned high, unsigned low) noexcept {
        const auto address = static_cast<std::uintptr_t>(high) << 32 | low;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): as above
        reinterpret_cast<State*>(address)->run();
    }
};

base::Result<std::unique_ptr<Fiber>> Fiber::make() {
    auto mapped = Mapping::map_anonymous(fiber_guard_bytes + fiber_stack_bytes);
    if (!mapped.is_ok()) return std::move(mapped).failure();
    auto state = std::make_unique<State>();
    state->memory = std::move(mapped).value();
    char* const bottom = state->memory.data() + fiber_guard_bytes;
    if (mprotect(state->memory.data(), fiber_guard_bytes, PROT_NONE) != 0)
        return system_failure("mprotect", errno, "the memory below the stack of a fiber");
    ucontext_t& context = state->fiber.context;
    if (getcontext(&context) != 0)
        return system_failure("getcontext", errno, "the stack of a fiber");
    context.uc_stack.ss_sp = bottom;
    context.uc_stack.ss_size = fiber_stack_bytes;
    context.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(state.get());
    makecontext(&context, reinterpret_cast<void (*)()>(State::main), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
#if defined(__SANITIZE_ADDRESS__)
    state->fiber.bottom = bottom;
    state->fiber.bytes = fiber_stack_bytes;
#endif
#if defined(__SANITIZE_THREAD__)
    state->fiber.fiber = __tsan_create_fiber(0);
#endif
    return std::unique_ptr<Fiber>(new Fiber(std::move(state)));
}

Fiber::Fiber(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Fiber::~Fiber() {
    ACP_ASSERT(!state_->is_under_way);
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(state_->fiber.fiber);
#endif
}

void Fiber::start(std::function<void()> function) {
    ACP_ASSERT(!state_->is_under_way);
    state_->function = std::move(function);
    state_->is_under_way = true;
    state_->enter();
}

void Fiber::resume() {
    ACP_ASSERT(state_->is_under_way);
    state_->enter();
}

void Fiber::stop() {
    state_->leave();
}

bool Fiber::is_under_way() const noexcept {
    return state_->is_under_way;
}

}  // namespace acp::os
