// SPDX-License-Identifier: BSD-3-Clause
// A fault ends the guarded code, and neither the thread nor its process, also the hundredth time.
#include "os/fault_guard.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "support/effort.hpp"

namespace acp::os {
namespace {

void do_nothing(void* done) noexcept {
    *static_cast<bool*>(done) = true;
}

void write_to_nowhere(void*) noexcept {
    static volatile char* volatile nowhere = nullptr;
    *nowhere = 1;
}

void run_no_instruction(void*) noexcept {
    __builtin_trap();
}

// Grows without end; volatile, so that no compiler makes a loop of it.
void overflow_the_stack(void* argument) noexcept {
    volatile char frame[1024];
    frame[0] = static_cast<char>(argument != nullptr);
    if (frame[0] == 0) overflow_the_stack(nullptr);
    frame[1] = frame[0];
}

// Runs what in a child, whose handlers and stack are gone with it; its exit code, or 128 + signal.
template <typename What>
int code_in_child(const What& what) {
    const pid_t child = fork();
    if (child == 0) {
        auto guard = FaultGuard::create();
        if (!guard.is_ok()) _exit(100);
        _exit(what(*guard.value()));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class FaultGuarded : public ::testing::Test {
protected:
    void SetUp() override {
        if (test::is_sanitized) GTEST_SKIP() << "the sanitizer takes the signals";
    }
};

TEST_F(FaultGuarded, runs_code_that_does_not_fault) {
    EXPECT_EQ(code_in_child([](FaultGuard& guard) {
                  bool is_done = false;
                  const int signal = guard.run(do_nothing, &is_done);
                  return signal == 0 && is_done ? 7 : 1;
              }),
              7);
}

TEST_F(FaultGuarded, survives_the_same_fault_again_and_again) {
    EXPECT_EQ(code_in_child([](FaultGuard& guard) {
                  for (int i = 0; i < 1000; ++i) {
                      if (guard.run(write_to_nowhere, nullptr) != SIGSEGV) return 1;
                  }
                  return guard.run(run_no_instruction, nullptr) == SIGILL ? 7 : 2;
              }),
              7);
}

TEST_F(FaultGuarded, survives_an_overflow_of_the_stack) {
    EXPECT_EQ(code_in_child([](FaultGuard& guard) {
                  return guard.run(overflow_the_stack, nullptr) == SIGSEGV &&
                                 guard.run(overflow_the_stack, nullptr) == SIGSEGV
                             ? 7
                             : 1;
              }),
              7);
}

TEST_F(FaultGuarded, guards_threads_that_block_the_signals) {
    EXPECT_EQ(code_in_child([](FaultGuard&) {
                  int signal = 0;
                  sigset_t all;
                  sigfillset(&all);
                  pthread_sigmask(SIG_SETMASK, &all, nullptr);
                  std::thread([&] {
                      auto guard = FaultGuard::create();
                      signal = guard.value()->run(write_to_nowhere, nullptr);
                  }).join();
                  return signal == SIGSEGV ? 7 : 1;
              }),
              7);
}

TEST_F(FaultGuarded, leaves_faults_outside_and_signals_of_others_alone) {
    EXPECT_EQ(code_in_child([](FaultGuard&) {
                  write_to_nowhere(nullptr);
                  return 1;
              }),
              128 + SIGSEGV);
    EXPECT_EQ(code_in_child([](FaultGuard& guard) {
                  return guard.run([](void*) noexcept { (void)kill(getpid(), SIGSEGV); }, nullptr);
              }),
              128 + SIGSEGV);
}

}  // namespace
}  // namespace acp::os
