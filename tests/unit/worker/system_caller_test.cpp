// SPDX-License-Identifier: BSD-3-Clause
// System calls that a companion carries out have the results, errors and effects of those of the own
// kernel; they end when the executor is killed, and signals behave as the manual says.
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "os/system_call.hpp"

#include <acp/device_side.h>

#include "device_side/system_calls.hpp"
#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"
#include "worker/system_calls.hpp"

namespace acp::worker {
namespace {

constexpr std::uint64_t piece = call::system_call_piece_bytes;

std::atomic<int> signals_seen{0};

class ServedThread : public ::testing::Test {
protected:
    void SetUp() override {
        auto guard = os::FaultGuard::create();
        ASSERT_TRUE(guard.is_ok());
        guard_ = std::move(guard).value();
        auto started = SystemCalls::start(2);
        ASSERT_TRUE(started.is_ok()) << started.failure().message();
        calls_ = std::move(started).value();
        calls_->serve_thread(0, *guard_);
        ASSERT_EQ(pipe2(pipe_.data(), 0), 0);
    }

    void TearDown() override {
        device_side::set_carrier(nullptr, nullptr);
        for (const int end : pipe_) close(end);
    }

    // The name of the process that makes the calls of this thread.
    static std::string maker() {
        const auto file = static_cast<int>(acp_sys_open("/proc/self/comm", O_RDONLY, 0));
        std::array<char, 32> name{};
        EXPECT_GT(acp_sys_read(file, name.data(), name.size()), 0);
        EXPECT_EQ(acp_sys_close(file), 0);
        return name.data();
    }

    // Waits until a thread of this process sleeps.
    static void await_sleep(int thread) {
        const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
        std::string word;
        while (word != "S") {
            sched_yield();
            std::ifstream(path) >> word >> word >> word;
        }
    }

    // A memory file with these bytes.
    static int file_of(const std::string& bytes) {
        const int file = memfd_create("test", 0);
        EXPECT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
        EXPECT_EQ(lseek(file, 0, SEEK_SET), 0);
        return file;
    }

    static std::string pattern(std::size_t bytes) {
        std::string made(bytes, '\0');
        for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<char>(i * 7 + i / 251);
        return made;
    }

    test::ScopedWatchdog watchdog_{"system calls of an executor"};
    std::unique_ptr<os::FaultGuard> guard_;
    std::unique_ptr<SystemCalls> calls_;
    std::array<int, 2> pipe_{};
};

TEST_F(ServedThread, has_its_calls_made_by_another_process_with_its_descriptors) {
    EXPECT_EQ(maker(), "acp-executor\n");
    EXPECT_EQ(acp_sys_write(pipe_[1], "hello", 5), 5);
    std::array<char, 8> bytes{};
    EXPECT_EQ(read(pipe_[0], bytes.data(), bytes.size()), 5);
    EXPECT_STREQ(bytes.data(), "hello");
    const std::array<std::uint64_t, 6> none{};
    EXPECT_EQ(acp_sys_call(SYS_getpid, none.data()), getpid()) << "a call that stays";
    EXPECT_EQ(acp_sys_call(SYS_io_uring_setup, none.data()), -ENOSYS);
    device_side::set_carrier(nullptr, nullptr);
    EXPECT_NE(maker(), "acp-executor\n");
}

TEST_F(ServedThread, has_an_executor_thread_of_its_own) {
    const std::uint64_t blocked = 1;
    std::atomic<std::int64_t> got{0};
    std::thread other([&] {
        auto guard = os::FaultGuard::create();
        calls_->serve_thread(1, *guard.value());
        char byte = 0;
        got = acp_sys_read(pipe_[0], &byte, blocked);  // until the other thread writes
    });
    errno = 99;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(acp_sys_close(-1), -EBADF);
    EXPECT_EQ(acp_sys_write(pipe_[1], "x", 1), 1);
    EXPECT_EQ(errno, 99);
    other.join();
    EXPECT_EQ(got, 1);
    // The next thread with that number.
    std::thread([&] {
        auto guard = os::FaultGuard::create();
        calls_->serve_thread(1, *guard.value());
        EXPECT_EQ(maker(), "acp-executor\n");
    }).join();
}

TEST_F(ServedThread, reads_and_writes_files_of_any_length) {
    for (const std::size_t bytes : {piece - 1, piece, piece + 1, 3 * piece + 100}) {
        const std::string sent = pattern(bytes);
        const int file = file_of("");
        EXPECT_EQ(acp_sys_write(file, sent.data(), bytes), static_cast<std::int64_t>(bytes));
        EXPECT_EQ(lseek(file, 0, SEEK_CUR), static_cast<off_t>(bytes));
        std::string got(bytes + 10, '-');
        EXPECT_EQ(acp_sys_pread(file, got.data(), bytes + 10, 0), static_cast<std::int64_t>(bytes));
        EXPECT_TRUE(got == sent + std::string(10, '-'));
        EXPECT_EQ(acp_sys_pwrite(file, sent.data(), bytes, 5), static_cast<std::int64_t>(bytes));
        EXPECT_EQ(lseek(file, 3, SEEK_SET), 3);
        EXPECT_EQ(acp_sys_read(file, got.data(), 2 * bytes), static_cast<std::int64_t>(bytes + 2));
        EXPECT_TRUE(got.compare(0, 2, sent, 3, 2) == 0 && got.compare(2, bytes, sent) == 0);
        close(file);
    }
}

TEST_F(ServedThread, returns_what_a_pipe_has_and_waits_for_no_more) {
    ASSERT_GE(fcntl(pipe_[1], F_SETPIPE_SZ, static_cast<int>(piece)), 0);
    const std::string sent = pattern(piece);
    ASSERT_EQ(write(pipe_[1], sent.data(), piece), static_cast<ssize_t>(piece));
    std::string got(2 * piece, '-');
    EXPECT_EQ(acp_sys_read(pipe_[0], got.data(), 2 * piece), static_cast<std::int64_t>(piece));
    EXPECT_TRUE(got.compare(0, piece, sent) == 0);
}

TEST_F(ServedThread, waits_in_a_long_write_until_all_bytes_are_taken) {
    const std::string sent = pattern(2 * piece + 100);
    std::string got;
    std::thread reader([&] {
        std::vector<char> bytes(1 << 16);
        while (got.size() < sent.size()) {
            const ssize_t count = read(pipe_[0], bytes.data(), bytes.size());
            got.append(bytes.data(), static_cast<std::size_t>(count));
        }
    });
    EXPECT_EQ(acp_sys_write(pipe_[1], sent.data(), sent.size()),
              static_cast<std::int64_t>(sent.size()));
    reader.join();
    EXPECT_TRUE(got == sent);
}

TEST_F(ServedThread, ends_a_long_write_where_a_full_pipe_ends_it) {
    ASSERT_EQ(fcntl(pipe_[1], F_SETFL, O_NONBLOCK), 0);
    const std::string sent = pattern(3 * piece);
    const int room = fcntl(pipe_[1], F_GETPIPE_SZ);
    EXPECT_EQ(acp_sys_write(pipe_[1], sent.data(), sent.size()), room);
    EXPECT_EQ(acp_sys_write(pipe_[1], sent.data(), sent.size()), -EAGAIN);
}

// The end of the reader is noticed in the first piece, or after a whole one.
TEST_F(ServedThread, raises_the_signal_of_a_broken_pipe_in_the_thread) {
    auto* const before = std::signal(SIGPIPE, [](int) { ++signals_seen; });
    signals_seen = 0;
    close(pipe_[0]);
    pipe_[0] = -1;
    EXPECT_EQ(acp_sys_write(pipe_[1], "x", 1), -EPIPE);
    EXPECT_EQ(signals_seen, 1);
    std::array<int, 2> sockets{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()), 0);
    close(sockets[0]);
    EXPECT_EQ(acp_sys_send(sockets[1], "x", 1, MSG_NOSIGNAL), -EPIPE);
    EXPECT_EQ(signals_seen, 1);
    EXPECT_EQ(acp_sys_send(sockets[1], "x", 1, 0), -EPIPE);
    EXPECT_EQ(signals_seen, 2);
    close(sockets[1]);
    std::signal(SIGPIPE, before);
}

TEST_F(ServedThread, makes_the_calls_of_its_signal_handlers_itself_and_then_goes_on) {
    static std::atomic<std::int64_t> made{0};
    static std::atomic<int> writing{-1};
    made = 0;
    writing = pipe_[1];
    auto* const before = std::signal(SIGUSR1, [](int) { made += acp_sys_write(writing, "h", 1); });
    const pthread_t self = pthread_self();
    // The handler writes what the interrupted call waits for.
    std::thread sender([self, caller = gettid()] {
        await_sleep(caller);
        EXPECT_EQ(pthread_kill(self, SIGUSR1), 0);
    });
    char byte = 0;
    EXPECT_EQ(acp_sys_read(pipe_[0], &byte, 1), 1);
    sender.join();
    EXPECT_EQ(byte, 'h');
    EXPECT_EQ(made, 1);
    EXPECT_EQ(maker(), "acp-executor\n");
    std::signal(SIGUSR1, before);
}

TEST_F(ServedThread, gets_an_error_when_the_executor_is_killed) {
    const int executor = calls_->process();
    char byte = 0;
    std::thread killer([executor, caller = gettid()] {
        await_sleep(caller);
        kill(executor, SIGKILL);
    });
    EXPECT_EQ(acp_sys_read(pipe_[0], &byte, 1), -EIO);
    killer.join();
    EXPECT_EQ(acp_sys_write(pipe_[1], "x", 1), -EIO);
    EXPECT_EQ(acp_sys_write(pipe_[1], "x", 1), -EIO);
    const std::array<std::uint64_t, 6> none{};
    EXPECT_EQ(acp_sys_call(SYS_getpid, none.data()), getpid());
}

TEST_F(ServedThread, ends_each_call_when_the_executor_is_killed_at_any_time) {
    for (int trial = 0; trial < test::effort(30, 10); ++trial) {
        auto started = SystemCalls::start(1);
        ASSERT_TRUE(started.is_ok());
        started.value()->serve_thread(0, *guard_);
        const int executor = started.value()->process();
        std::thread killer([&] {
            for (int i = 0; i < trial; ++i) sched_yield();
            kill(executor, SIGKILL);
        });
        std::int64_t result = 0;
        std::int64_t written = 0;
        while ((result = acp_sys_write(pipe_[1], "x", 1)) == 1) {
            ++written;
            char byte = 0;
            EXPECT_EQ(read(pipe_[0], &byte, 1), 1);
        }
        EXPECT_EQ(result, -EIO);
        killer.join();
        // The last call may have been made.
        int left = 0;
        ASSERT_EQ(ioctl(pipe_[0], FIONREAD, &left), 0);
        EXPECT_LE(left, 1);
        char byte = 0;
        if (left == 1) {
            EXPECT_EQ(read(pipe_[0], &byte, 1), 1);
        }
        calls_->serve_thread(0, *guard_);
    }
    EXPECT_EQ(waitpid(-1, nullptr, __WALL | WNOHANG), 0) << "the executor of the test alone";
}

TEST_F(ServedThread, leaves_no_descriptor_and_no_process) {
    const auto count = [] {
        int open = 0;
        for (int fd = 0; fd < 1024; ++fd) open += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
        return open;
    };
    const int before = count();
    for (int i = 0; i < 10; ++i) {
        auto started = SystemCalls::start(2);
        ASSERT_TRUE(started.is_ok());
        started.value()->serve_thread(0, *guard_);
        EXPECT_EQ(acp_sys_close(-1), -EBADF);
        EXPECT_EQ(count(), before);
    }
    calls_->serve_thread(0, *guard_);
    calls_->end();
    EXPECT_EQ(count(), before);
    EXPECT_EQ(waitpid(-1, nullptr, __WALL | WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST_F(ServedThread, keeps_requests_of_fcntl_that_the_list_does_not_know_in_the_process) {
    std::array<std::uint32_t, 2> owners{7, 7};
    constexpr int get_owner_uids = 17;
    const std::array<std::uint64_t, 6> words{static_cast<std::uint64_t>(pipe_[0]), get_owner_uids,
                                             reinterpret_cast<std::uintptr_t>(owners.data())};
    const std::int64_t result = acp_sys_call(SYS_fcntl, words.data());
    EXPECT_EQ(result, os::system_call(SYS_fcntl, words));
    if (result == 0) {
        EXPECT_EQ(owners, (std::array<std::uint32_t, 2>{0, 0})) << "of a pipe without an owner";
    }
    const std::array<std::uint64_t, 6> unknown{static_cast<std::uint64_t>(pipe_[0]), 4711};
    EXPECT_EQ(acp_sys_call(SYS_fcntl, unknown.data()), -EINVAL);
}

}  // namespace
}  // namespace acp::worker
