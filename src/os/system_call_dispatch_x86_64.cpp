// SPDX-License-Identifier: BSD-3-Clause
// The handler of SIGSYS. It returns by code of its own, from which the kernel dispatches no call, so
// that it can switch the dispatch on again before.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <system_error>
#include <ucontext.h>
#include <unistd.h>

#include "os/system_call.hpp"
#include "os/system_call_dispatch.hpp"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

// Between begin and end no call is dispatched. `restore` ends the handler; `end_frame` ends a handler
// of the program, whose frame is at its argument; `clone` makes a call with the registers of its
// argument (CloneRegisters), and continues in the child at the address on top of its stack.
asm(R"(
    .pushsection .text
    .balign 16
acp_dispatch_begin:
acp_dispatch_restore:
    movq $15, %rax
    syscall
acp_dispatch_end_frame:
    movq %rdi, %rsp
    movq $15, %rax
    syscall
acp_dispatch_clone:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rdi, %rax
    movq 8(%rax), %rdi
    movq 16(%rax), %rsi
    movq 24(%rax), %rdx
    movq 32(%rax), %r10
    movq 40(%rax), %r8
    movq 48(%rax), %r9
    movq 56(%rax), %rbx
    movq 64(%rax), %rbp
    movq 72(%rax), %r12
    movq 80(%rax), %r13
    movq 88(%rax), %r14
    movq 96(%rax), %r15
    movq (%rax), %rax
    syscall
    testq %rax, %rax
    jz 1f
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
1:  ret
acp_dispatch_end:
    nop
    .popsection
)");

extern "C" {
extern const char acp_dispatch_begin[] __attribute__((visibility("hidden")));
extern const char acp_dispatch_end[] __attribute__((visibility("hidden")));
void acp_dispatch_restore() __attribute__((visibility("hidden")));
[[noreturn]] void acp_dispatch_end_frame(std::uint64_t frame) __attribute__((visibility("hidden")));
std::int64_t acp_dispatch_clone(const void* registers) __attribute__((visibility("hidden")));
}

namespace acp::os {

namespace {

using Words = std::array<std::uint64_t, 6>;

// The registers that the assembler above loads.
struct CloneRegisters {
    std::uint64_t number;
    Words words;
    std::array<std::uint64_t, 6> kept;  // rbx, rbp, r12 .. r15
};

static_assert(sizeof(CloneRegisters) == 13 * sizeof(std::uint64_t));

// struct sigaction of the kernel
struct KernelAction {
    void (*handler)(int, siginfo_t*, void*);
    std::uint64_t flags;
    void (*restorer)();
    std::uint64_t mask;
};

constexpr std::uint64_t mask_bytes = 8;
constexpr std::uint64_t has_restorer = 0x04000000;
constexpr int user_dispatch = 2;  // si_code SYS_USER_DISPATCH

constexpr char allow = 0;
constexpr char block = 1;

// Read by the kernel at each call of the thread.
thread_local constinit volatile char selector = allow;

std::atomic<DispatchedCall> handle_call{nullptr};

[[nodiscard]] std::uint64_t word(const greg_t* registers, int index) noexcept {
    return static_cast<std::uint64_t>(registers[index]);
}

// Puts the address at which the code continues onto the stack of a child. Returns the stack then.
std::uint64_t push_address(std::uint64_t stack, std::uint64_t address) noexcept {
    const std::uint64_t top = stack - sizeof address;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the stack that the program gives to the kernel
    std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(top)), &address,
                sizeof address);
    return top;
}

[[nodiscard]] std::int64_t run_clone(std::int64_t number,
                                     const Words& words,
                                     const greg_t* registers) noexcept {
    const CloneRegisters all{
        static_cast<std::uint64_t>(number),
        words,
        {word(registers, REG_RBX), word(registers, REG_RBP), word(registers, REG_R12),
         word(registers, REG_R13), word(registers, REG_R14), word(registers, REG_R15)}};
    return acp_dispatch_clone(&all);
}

// A child with a stack of its own begins there. One without continues in this handler, on a copy of
// the stack; so it must not share memory, as after vfork.
[[nodiscard]] std::int64_t clone_for(Words words, const greg_t* registers) noexcept {
    if (words[1] == 0) {
        words[0] &= ~std::uint64_t{CLONE_VM | CLONE_VFORK};
        return system_call(SYS_clone, words);
    }
    words[1] = push_address(words[1], word(registers, REG_RIP));
    return run_clone(SYS_clone, words, registers);
}

[[nodiscard]] std::int64_t clone3_for(Words words, const greg_t* registers) noexcept {
    // struct clone_args: words, of which these are flags, stack and bytes of the stack.
    constexpr std::size_t flags = 0;
    constexpr std::size_t stack = 5;
    constexpr std::size_t stack_bytes = 6;
    std::array<std::uint64_t, 16> arguments{};
    if (words[1] < 64 || words[1] > sizeof arguments) return -EINVAL;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an argument of a system call
    std::memcpy(arguments.data(), reinterpret_cast<const void*>(words[0]), words[1]);
    words[0] = reinterpret_cast<std::uintptr_t>(arguments.data());
    if (arguments[stack] == 0) {
        arguments[flags] &= ~std::uint64_t{CLONE_VM | CLONE_VFORK};
        return system_call(SYS_clone3, words);
    }
    (void)push_address(arguments[stack] + arguments[stack_bytes], word(registers, REG_RIP));
    arguments[stack_bytes] -= sizeof(std::uint64_t);
    return run_clone(SYS_clone3, words, registers);
}

// A handler of the program must not block SIGSYS.
[[nodiscard]] std::int64_t set_action(Words words) noexcept {
    KernelAction action{};
    if (words[1] != 0) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an argument of a system call
        std::memcpy(&action, reinterpret_cast<const void*>(words[1]), sizeof action);
        action.mask &= ~(std::uint64_t{1} << (SIGSYS - 1U));
        words[1] = reinterpret_cast<std::uintptr_t>(&action);
    }
    return system_call(SYS_rt_sigaction, words);
}

[[nodiscard]] std::int64_t make_call(std::int64_t number,
                                     const Words& words,
                                     ucontext_t& context) noexcept {
    const greg_t* const registers = context.uc_mcontext.gregs;
    switch (number) {
        case SYS_rt_sigreturn:
            selector = block;
            acp_dispatch_end_frame(word(registers, REG_RSP));
        case SYS_clone:
            return clone_for(words, registers);
        case SYS_clone3:
            return clone3_for(words, registers);
        case SYS_vfork:
            return system_call(SYS_fork, words);
        case SYS_rt_sigprocmask: {
            // The mask that the end of this handler sets.
            const std::int64_t result = system_call(number, words);
            system_call(SYS_rt_sigprocmask,
                        {SIG_BLOCK, 0, reinterpret_cast<std::uintptr_t>(&context.uc_sigmask),
                         mask_bytes, 0, 0});
            // The kernel ends a process at a call that it cannot dispatch.
            sigdelset(&context.uc_sigmask, SIGSYS);
            return result;
        }
        case SYS_rt_sigaction:
            return set_action(words);
        case SYS_sigaltstack: {
            const std::int64_t result = system_call(number, words);
            system_call(SYS_sigaltstack,
                        {0, reinterpret_cast<std::uintptr_t>(&context.uc_stack), 0, 0, 0, 0});
            return result;
        }
        default:
            // acquire: partner is prepare_system_call_dispatch()
            return handle_call.load(std::memory_order_acquire)(number, words);
    }
}

void on_system_call(int /*signal*/, siginfo_t* info, void* argument) {
    selector = allow;
    if (info->si_code != user_dispatch) {
        // By a filter of the program, or another process: its usual effect.
        signal(SIGSYS, SIG_DFL);
        raise(SIGSYS);
        return;
    }
    auto& context = *static_cast<ucontext_t*>(argument);
    greg_t* const registers = context.uc_mcontext.gregs;
    const Words words{word(registers, REG_RDI), word(registers, REG_RSI), word(registers, REG_RDX),
                      word(registers, REG_R10), word(registers, REG_R8),  word(registers, REG_R9)};
    registers[REG_RAX] = make_call(registers[REG_RAX], words, context);
    selector = block;
}

}  // namespace

Refusal probe_system_call_dispatch() noexcept {
    constexpr int off = 0;
    return prctl(PR_SET_SYSCALL_USER_DISPATCH, off, 0, 0, 0) == 0 ? 0 : errno;
}

Status prepare_system_call_dispatch(DispatchedCall handle) {
    handle_call.store(handle, std::memory_order_release);  // partner: make_call()
    const KernelAction action{on_system_call, SA_SIGINFO | SA_NODEFER | has_restorer,
                              acp_dispatch_restore, 0};
    const std::int64_t result = system_call(
        SYS_rt_sigaction, {SIGSYS, reinterpret_cast<std::uintptr_t>(&action), 0, mask_bytes, 0, 0});
    sigset_t dispatched;
    sigemptyset(&dispatched);
    sigaddset(&dispatched, SIGSYS);
    pthread_sigmask(SIG_UNBLOCK, &dispatched, nullptr);
    constexpr int on = 1;
    if (result == 0 && prctl(PR_SET_SYSCALL_USER_DISPATCH, on, acp_dispatch_begin,
                             acp_dispatch_end - acp_dispatch_begin + 1, &selector) == 0) {
        return {};
    }
    return {base::Code::unsupported,
            "the kernel refuses user dispatch of system calls (prctl: " +
                std::generic_category().message(errno) +
                "), which Linux has from 5.11 on: use ACP_SYSTEM_CALLS=native"};
}

void dispatch_system_calls(bool is_on) noexcept {
    selector = is_on ? block : allow;
}

}  // namespace acp::os
