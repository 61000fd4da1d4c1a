// SPDX-License-Identifier: BSD-3-Clause
// A child of fork() touches a shared page: it ends by SIGSEGV after a sentence on its standard error,
// on one node and on several, and its parent's pages stay as they were. A child that is made while a
// thread of its parent flushes pages ends without one.
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t page = 4096;

// Before acp_init_dsm the signals have their default actions, which the sanitizers change.
class DsmChildTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        former_segv_ = signal(SIGSEGV, SIG_DFL);
        former_bus_ = signal(SIGBUS, SIG_DFL);
        has_pages_ = acp_init_dsm(4 * page) == 0;
        if (!has_pages_) {
            ASSERT_EQ(acp_errno(), ACP_ERR_UNSUPPORTED) << acp_error_message();
            GTEST_SKIP() << acp_error_message();
        }
    }

    void TearDown() override {
        if (has_pages_) {
            EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        }
        signal(SIGSEGV, former_segv_);
        signal(SIGBUS, former_bus_);
        RankedTest::TearDown();
    }

private:
    void (*former_segv_)(int) = SIG_DFL;
    void (*former_bus_)(int) = SIG_DFL;
    bool has_pages_ = false;
};

struct EndOfChild {
    int status = 0;
    std::string told;
};

// Runs `touch` in a child.
template <typename Touch>
EndOfChild end_of_child(Touch touch) {
    EndOfChild end;
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        touch();
        _exit(0);
    }
    close(ends[1]);
    std::array<char, 512> text{};
    for (ssize_t bytes = 0; (bytes = read(ends[0], text.data(), text.size())) > 0;)
        end.told.append(text.data(), static_cast<std::size_t>(bytes));
    close(ends[0]);
    EXPECT_EQ(waitpid(child, &end.status, 0), child);
    return end;
}

void expect_sentence(const EndOfChild& end, const void* address, const char* page_name) {
    EXPECT_TRUE(WIFSIGNALED(end.status)) << end.status;
    EXPECT_EQ(WTERMSIG(end.status), SIGSEGV);
    EXPECT_NE(
        end.told.find("touched address " + hexadecimal_at(address) + " in " + page_name + ","),
        std::string::npos)
        << end.told;
    EXPECT_NE(end.told.find("a child of fork() does not inherit shared pages"), std::string::npos)
        << end.told;
}

TEST_F(DsmChildTest, a_read_and_a_write_end_the_child_after_a_sentence) {
    auto* const bytes = static_cast<volatile char*>(acp_alloc_dsm(2 * page));
    ASSERT_NE(bytes, nullptr) << acp_error_message();
    const void* const read_at = const_cast<char*>(bytes + 8);
    const void* const written_at = const_cast<char*>(bytes + page);
    expect_sentence(end_of_child([bytes] { (void)bytes[8]; }), read_at, "shared page 0");
    expect_sentence(end_of_child([bytes] { bytes[page] = 1; }), written_at, "shared page 1");
    EXPECT_EQ(bytes[8], 0);
    EXPECT_EQ(bytes[page], 0) << "the child has written nothing";
    EXPECT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
}

// Another address of the child has its usual effect.
TEST_F(DsmChildTest, an_access_elsewhere_ends_the_child_without_that_sentence) {
    const EndOfChild end = end_of_child([] { raise(SIGSEGV); });
    EXPECT_TRUE(WIFSIGNALED(end.status)) << end.status;
    EXPECT_EQ(end.told, "");
}

// The child has the memory of the thread that flushes, and not the thread.
TEST_F(DsmChildTest, a_child_made_beside_a_flush_ends_and_harms_no_flush) {
    constexpr std::size_t words_of_page = page / 8;
    auto* const words = static_cast<volatile std::uint64_t*>(acp_alloc_dsm(4 * page));
    ASSERT_NE(words, nullptr) << acp_error_message();
    const auto word = [words](std::size_t number, int rank) -> volatile std::uint64_t& {
        return words[number * words_of_page + static_cast<std::size_t>(rank)];
    };
    for (std::uint64_t round = 1; round <= 20; ++round) {
        for (std::size_t number = 0; number < 4; ++number) word(number, rank_) = round;
        ASSERT_EQ(acp_flush_dsm(const_cast<std::uint64_t*>(words), 4 * page), 0)
            << acp_error_message();
        std::fflush(nullptr);  // the child would write it again
        const EndOfChild end = end_of_child([] { std::exit(0); });
        EXPECT_EQ(end.status, 0);
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        for (int rank = 0; rank < procs_; ++rank)
            for (std::size_t number = 0; number < 4; ++number)
                ASSERT_EQ(word(number, rank), round) << "page " << number << " of rank " << rank;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
}

}  // namespace
}  // namespace acp::test
