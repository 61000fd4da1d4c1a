// SPDX-License-Identifier: BSD-3-Clause
// A robust word shows the end of the thread that holds it, in whatever way it ends, and no other
// event.
#include "os/robust_word.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "os/cpu.hpp"
#include "os/pipe.hpp"

#include "support/child_process.hpp"

namespace acp::os {
namespace {

using Word = std::atomic<std::uint32_t>;

class RobustWordTest : public testing::Test {
protected:
    void SetUp() override {
        std::thread([this] {
            const RobustHold hold(word_);
            is_supported_ = hold.is_held();
        }).join();
        if (!is_supported_) GTEST_SKIP() << "an emulator without robust lists";
    }

    ~RobustWordTest() override { munmap(&word_, sizeof(Word)); }

    [[nodiscard]] std::uint32_t value() const { return word_.load(std::memory_order_acquire); }

    // Runs `then` in a child, one thread of which holds the word as long as the child lives.
    // Returns when it holds it.
    template <typename Then>
    std::unique_ptr<test::ChildProcess> child_that_holds(Then then) {
        auto child = std::make_unique<test::ChildProcess>([&] {
            std::atomic<bool> has_told{false};
            std::thread([&] {
                const RobustHold hold(word_);
                tell();
                has_told = true;
                for (;;) pause();
            }).detach();
            while (!has_told) nap();
            then();
            for (;;) pause();
            return 0;
        });
        hear();
        return child;
    }

    void tell() const { static_cast<void>(!write(told_.writing.get(), "t", 1)); }

    void hear() const {
        char byte = 0;
        EXPECT_EQ(read(told_.reading.get(), &byte, 1), 1);
    }

    Word& word_ = *new (mmap(
        nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Word(0);
    Pipe told_ = make_pipe().value();
    bool is_supported_ = false;
};

TEST_F(RobustWordTest, names_its_holder_and_no_thread_after_its_release) {
    EXPECT_EQ(value(), 0U);
    std::thread([this] {
        {
            const RobustHold hold(word_);
            EXPECT_EQ(value(), static_cast<std::uint32_t>(gettid()));
            EXPECT_FALSE(has_holder_ended(value()));
        }
        EXPECT_EQ(value(), 0U);
    }).join();
    EXPECT_EQ(value(), 0U);
}

TEST_F(RobustWordTest, reports_a_thread_that_ends_while_it_holds_it) {
    // Not destroyed, like the hold of a killed thread.
    alignas(RobustHold) static std::array<std::byte, sizeof(RobustHold)> room;
    std::thread([this] { new (room.data()) RobustHold(word_); }).join();
    // join() waits for the word that the kernel clears after it has walked the list
    EXPECT_TRUE(has_holder_ended(value()));
}

TEST_F(RobustWordTest, reports_that_its_process_was_killed) {
    auto child = child_that_holds([] {});
    EXPECT_FALSE(has_holder_ended(value()));
    child->send(SIGKILL);
    child->wait();
    EXPECT_TRUE(has_holder_ended(value()));
}

TEST_F(RobustWordTest, says_nothing_when_another_thread_ends_or_a_child_is_forked) {
    auto child = child_that_holds([&] {
        test::ChildProcess([] { return 0; }).wait();
        syscall(SYS_exit, 0);  // the main thread alone
    });
    // The main thread's state shows its end, while the process lives.
    const std::string path = "/proc/" + std::to_string(child->pid()) + "/stat";
    for (;;) {
        char text[512] = {};
        FILE* const file = fopen(path.c_str(), "r");
        ASSERT_NE(file, nullptr);
        static_cast<void>(!fread(text, 1, sizeof text - 1, file));
        fclose(file);
        if (std::string(text).find(") Z ") != std::string::npos) break;
        nap();
    }
    EXPECT_NE(value(), 0U);
    EXPECT_FALSE(has_holder_ended(value()));
}

// The new program writes to a pipe as soon as it runs.
TEST_F(RobustWordTest, reports_exec_before_the_new_program_runs) {
    auto child = child_that_holds([this] {
        dup2(told_.writing.get(), STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", "echo; exec sleep 1000", nullptr);
    });
    hear();
    EXPECT_TRUE(has_holder_ended(value()));
}

TEST_F(RobustWordTest, says_nothing_of_an_exec_that_fails) {
    auto child = child_that_holds([this] {
        execl("/nowhere", "nowhere", nullptr);
        tell();
    });
    hear();
    EXPECT_NE(value(), 0U);
    EXPECT_FALSE(has_holder_ended(value()));
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
