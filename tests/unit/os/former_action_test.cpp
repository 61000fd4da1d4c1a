// SPDX-License-Identifier: BSD-3-Clause
// Signals that are no faults in a range have the effect that they would have without the handler,
// whatever action the process had before. Most tests run in a child, whose actions they change.
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "os/fault_handler.hpp"

#include "guarded_page.hpp"
#include "support/child_process.hpp"

namespace acp::os {
namespace {

using acp::test::ChildProcess;
using test::GuardedPage;
using test::open_page;
using test::refuse_repair;

void set_action(int signal, void (*handler)(int)) {
    struct sigaction action {};

    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
}

// In a child: the default action for both signals, whatever a sanitizer has installed.
void forget_handlers() {
    set_action(SIGSEGV, SIG_DFL);
    set_action(SIGBUS, SIG_DFL);
}

volatile char* const foreign = reinterpret_cast<volatile char*>(16);

// The signal that ends a child which runs the body with a range elsewhere; 0: it exited.
template <typename Body>
int signal_of_child(Body body) {
    ChildProcess child([&] {
        forget_handlers();
        GuardedPage page;
        auto range = page.watch(open_page);
        if (!range.is_ok()) return 99;
        return body();
    });
    const int status = child.wait();
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << status;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(FormerAction, restores_the_former_actions_with_the_last_range) {
    set_action(SIGSEGV, SIG_IGN);

    struct sigaction bus_before {};

    sigaction(SIGBUS, nullptr, &bus_before);

    struct sigaction now {};

    {
        GuardedPage first;
        GuardedPage second;
        auto a = first.watch(open_page);
        auto b = second.watch(open_page);
        ASSERT_TRUE(a.is_ok() && b.is_ok());
        { const FaultRange ended = std::move(a).value(); }
        sigaction(SIGSEGV, nullptr, &now);
        EXPECT_NE(now.sa_handler, SIG_IGN);
    }
    sigaction(SIGSEGV, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_IGN);
    sigaction(SIGBUS, nullptr, &now);
    EXPECT_EQ(now.sa_handler, bus_before.sa_handler);
}

TEST(FormerAction, lets_a_foreign_fault_end_the_process_by_its_signal) {
    EXPECT_EQ(signal_of_child([] { return static_cast<int>(*foreign); }), SIGSEGV);
}

TEST(FormerAction, lets_a_sent_signal_end_the_process) {
    EXPECT_EQ(signal_of_child([] { return raise(SIGBUS); }), SIGBUS);
    EXPECT_EQ(signal_of_child([] { return kill(getpid(), SIGSEGV); }), SIGSEGV);
}

TEST(FormerAction, lets_a_fault_end_the_process_that_its_owner_does_not_repair) {
    EXPECT_EQ(signal_of_child([] {
                  GuardedPage page;
                  auto range = page.watch(refuse_repair);
                  return static_cast<int>(*page.at(0));
              }),
              SIGSEGV);
}

TEST(FormerAction, ignores_sent_signals_and_not_faults_where_the_program_ignores_them) {
    const auto ignoring = [](auto body) {
        ChildProcess child([&] {
            forget_handlers();
            set_action(SIGSEGV, SIG_IGN);
            GuardedPage page;
            auto range = page.watch(open_page);
            return body();
        });
        return child.exit_code();
    };
    EXPECT_EQ(ignoring([] { return raise(SIGSEGV) + 7; }), 7);
    EXPECT_EQ(ignoring([] { return static_cast<int>(*foreign); }), 128 + SIGSEGV);
}

TEST(FormerAction, takes_no_sent_signal_for_a_fault) {
    GuardedPage page;
    static std::atomic<int> received;

    struct sigaction before {};

    sigaction(SIGBUS, nullptr, &before);
    set_action(SIGBUS, [](int) { ++received; });
    {
        auto range = page.watch(open_page);
        siginfo_t forged{};
        forged.si_signo = SIGBUS;
        forged.si_code = SI_QUEUE;
        forged.si_addr = page.mapping.data();
        syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGBUS, &forged);
    }
    sigaction(SIGBUS, &before, nullptr);
    EXPECT_EQ(received, 1);
    EXPECT_EQ(page.repairs, 0);
}

// Exit codes of the former handlers below.
constexpr int was_right = 11;
constexpr int was_wrong = 12;

bool has_mask_of_former(int signal) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGUSR2) == 1 &&
           sigismember(&mask, SIGTERM) == 0 && sigismember(&mask, signal) == 1;
}

TEST(FormerAction, calls_the_former_handler_with_its_mask_and_the_fault) {
    for (const bool has_info : {true, false}) {
        ChildProcess child([&] {
            struct sigaction action {};
            sigaddset(&action.sa_mask, SIGUSR1);
            action.sa_flags = has_info ? SA_SIGINFO : 0;
            if (has_info) {
                action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
                    const bool is_right = has_mask_of_former(signal) && info->si_addr == foreign &&
                                          context != nullptr;
                    _exit(is_right ? was_right : was_wrong);
                };
            } else {
                action.sa_handler = [](int signal) {
                    _exit(has_mask_of_former(signal) ? was_right : was_wrong);
                };
            }
            sigaction(SIGSEGV, &action, nullptr);
            sigset_t blocked;
            sigemptyset(&blocked);
            sigaddset(&blocked, SIGUSR2);
            pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
            GuardedPage page;
            auto range = page.watch(open_page);
            return static_cast<int>(*foreign);
        });
        EXPECT_EQ(child.exit_code(), was_right) << has_info;
    }
}

TEST(FormerAction, calls_a_former_handler_once_that_wishes_to_run_once) {
    static std::atomic<int> calls;
    ChildProcess child([] {
        forget_handlers();
        struct sigaction action {};
        action.sa_handler = [](int) {
            if (++calls > 1) _exit(was_wrong);
        };
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        sigaction(SIGSEGV, &action, nullptr);
        GuardedPage page;
        auto range = page.watch(open_page);
        return static_cast<int>(*foreign);
    });
    EXPECT_EQ(child.exit_code(), 128 + SIGSEGV);
}

TEST(FormerAction, repairs_for_a_handler_that_the_program_installs_later) {
    ChildProcess child([] {
        GuardedPage page;
        auto range = page.watch(open_page);
        struct sigaction action {};
        action.sa_sigaction = [](int, siginfo_t* info, void* /*context*/) {
            if (!handle_fault(*info, nullptr)) _exit(was_right);
        };
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, nullptr);
        *page.at(3) = 5;
        if (page.repairs != 1 || page.last.access != FaultAccess::unknown) return was_wrong;
        return static_cast<int>(*foreign);
    });
    EXPECT_EQ(child.exit_code(), was_right);
}

// The program's handler passes signals on to what it found, which is the library's.
struct sigaction beneath {};

void pass_to_beneath(int signal, siginfo_t* info, void* context) {
    static int calls = 0;
    if (++calls > 10) _exit(was_wrong);  // the two call each other
    beneath.sa_sigaction(signal, info, context);
}

TEST(FormerAction, stays_beneath_a_later_handler_when_its_ranges_end_and_return) {
    ChildProcess child([] {
        forget_handlers();
        GuardedPage page;
        {
            auto range = page.watch(open_page);
            struct sigaction action {};
            action.sa_sigaction = pass_to_beneath;
            action.sa_flags = SA_SIGINFO;
            sigaction(SIGSEGV, &action, &beneath);
        }
        struct sigaction now {};
        sigaction(SIGSEGV, nullptr, &now);
        if (now.sa_sigaction != pass_to_beneath) return was_wrong;
        auto range = page.watch(open_page);
        *page.at(0) = 1;
        if (page.repairs != 1) return was_wrong;
        return static_cast<int>(*foreign);
    });
    EXPECT_EQ(child.exit_code(), 128 + SIGSEGV);
}

TEST(FormerAction, is_installed_again_over_the_default_action) {
    GuardedPage page;
    {
        auto range = page.watch(open_page);
        set_action(SIGSEGV, SIG_DFL);
    }
    auto range = page.watch(open_page);
    *page.at(0) = 1;
    EXPECT_EQ(page.repairs, 1);
}

TEST(FormerAction, is_asked_about_memory_that_a_child_has_not_inherited) {
    GuardedPage page;
    ASSERT_EQ(madvise(page.mapping.data(), page_bytes(), MADV_DONTFORK), 0);
    auto range = page.watch([](void* /*owner*/, const MemoryFault& fault) noexcept {
        _exit(fault.cause == FaultCause::unmapped ? was_right : was_wrong);
        return false;
    });
    ChildProcess child([&] { return static_cast<int>(*page.at(0)); });
    EXPECT_EQ(child.exit_code(), was_right);
}

// The registers of a stopped child, as the kernel would write them into a core.
std::vector<char> registers_of(pid_t pid) {
    std::vector<char> bytes(4096);
    iovec part{bytes.data(), bytes.size()};
    constexpr long general_registers = 1;  // NT_PRSTATUS
    if (ptrace(PTRACE_GETREGSET, pid, general_registers, &part) != 0) return {};
    bytes.resize(part.iov_len);
    return bytes;
}

// Continues the child with a signal until it stops before the next one.
int next_stop(pid_t pid, int signal) {
    int status = 0;
    ptrace(PTRACE_CONT, pid, nullptr, signal);
    waitpid(pid, &status, 0);
    return status;
}

TEST(FormerAction, leaves_a_core_with_the_registers_of_the_faulting_instruction) {
    ChildProcess child([] {
        forget_handlers();
        GuardedPage page;
        auto range = page.watch(open_page);
        if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 77;
        raise(SIGSTOP);
        return static_cast<int>(*foreign);
    });
    int status = 0;
    waitpid(child.pid(), &status, 0);
    if (!WIFSTOPPED(status)) GTEST_SKIP() << "tracing is refused";
    status = next_stop(child.pid(), 0);
    ASSERT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSEGV) << status;
    const std::vector<char> at_fault = registers_of(child.pid());
    status = next_stop(child.pid(), SIGSEGV);
    ASSERT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSEGV) << status;
    siginfo_t info{};
    ptrace(PTRACE_GETSIGINFO, child.pid(), nullptr, &info);
    EXPECT_EQ(info.si_addr, foreign);
    EXPECT_EQ(info.si_code, SEGV_MAPERR);
    EXPECT_EQ(registers_of(child.pid()), at_fault);
    EXPECT_FALSE(at_fault.empty());
    status = next_stop(child.pid(), SIGSEGV);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << status;
}

}  // namespace
}  // namespace acp::os
