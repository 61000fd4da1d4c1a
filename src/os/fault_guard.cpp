// SPDX-License-Identifier: BSD-3-Clause
// The handler leaves the faulting code by siglongjmp. SA_NODEFER keeps the signal mask as it is
// while the handler runs, so that the jump need not restore it, which would cost a system call for
// each run.
#include "os/fault_guard.hpp"

#include <array>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <pthread.h>

#include "os/mapping.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

constexpr std::array guarded_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::uint64_t handler_stack_bytes = std::uint64_t{64} * 1024;

// Where the handler jumps to; nullptr: the thread runs no guarded code.
thread_local sigjmp_buf* volatile way_out = nullptr;

void leave_code(int signal, siginfo_t* info, void*) {
    sigjmp_buf* const out = way_out;
    if (out != nullptr && info->si_code > 0) {
        way_out = nullptr;  // run() sets it again
        siglongjmp(*out, signal);
    }

    // Not ours. Without a handler the instruction faults again, or the signal is raised again, and
    // the process ends as it would have.
    struct sigaction usual {};

    usual.sa_handler = SIG_DFL;
    sigaction(signal, &usual, nullptr);
    if (info->si_code <= 0) raise(signal);
}

Status install_handlers() {
    struct sigaction action {};

    action.sa_sigaction = leave_code;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (const int signal : guarded_signals) {
        if (sigaction(signal, &action, nullptr) != 0)
            return system_failure("sigaction", errno, "a handler for faults");
    }
    return {};
}

void set_handler_stack(void* memory, std::uint64_t bytes) {
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = bytes;
    stack.ss_flags = memory == nullptr ? SS_DISABLE : 0;
    sigaltstack(&stack, nullptr);
}

}  // namespace

struct FaultGuard::Stack {
    Mapping memory;
};

FaultGuard::FaultGuard(std::unique_ptr<Stack> stack) noexcept : stack_(std::move(stack)) {}

base::Result<std::unique_ptr<FaultGuard>> FaultGuard::create() {
    auto memory = Mapping::map_anonymous(handler_stack_bytes);
    if (!memory.is_ok()) return std::move(memory).failure();
    if (Status status = install_handlers(); !status.is_ok()) return status;
    auto stack = std::make_unique<Stack>(Stack{std::move(memory).value()});
    set_handler_stack(stack->memory.data(), handler_stack_bytes);
    sigset_t faults;
    sigemptyset(&faults);
    for (const int signal : guarded_signals) sigaddset(&faults, signal);
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    return std::unique_ptr<FaultGuard>(new FaultGuard(std::move(stack)));
}

FaultGuard::~FaultGuard() {
    set_handler_stack(nullptr, 0);
}

int FaultGuard::run(void (*body)(void*) noexcept, void* argument) noexcept {
    sigjmp_buf out;
    sigjmp_buf* const volatile around = way_out;
    const int signal = sigsetjmp(out, 0);
    if (signal == 0) {
        way_out = &out;
        body(argument);
    }
    way_out = around;
    return signal;
}

}  // namespace acp::os
