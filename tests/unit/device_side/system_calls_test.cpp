// SPDX-License-Identifier: BSD-3-Clause
// The calls of <acp/device_side.h>: by the own kernel as long as the thread has no carrier, which
// gets the words otherwise, but not in a forked child.
#include "device_side/system_calls.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <acp/device_side.h>

namespace acp::device_side {
namespace {

using call::SystemCall;
using call::SystemCallWords;

class SystemCallsTest : public ::testing::Test {
protected:
    ~SystemCallsTest() override { set_carrier(nullptr, nullptr); }

    void carry() {
        set_carrier(
            [](void* carrier, SystemCall call, const SystemCallWords& words) noexcept {
                auto& calls =
                    *static_cast<std::vector<std::pair<SystemCall, SystemCallWords>>*>(carrier);
                calls.emplace_back(call, words);
                return std::int64_t{-77};
            },
            &calls_);
    }

    std::vector<std::pair<SystemCall, SystemCallWords>> calls_;
};

TEST_F(SystemCallsTest, are_made_by_the_own_kernel_and_return_negative_errors) {
    const std::string path = "acp_device_side_" + std::to_string(getpid()) + ".tmp";
    const auto file = static_cast<int>(acp_sys_open(path.c_str(), O_RDWR | O_CREAT, 0600));
    ASSERT_GE(file, 0);
    errno = 99;
    EXPECT_EQ(acp_sys_write(file, "0123456789", 10), 10);
    EXPECT_EQ(acp_sys_pwrite(file, "xy", 2, 3), 2);
    EXPECT_EQ(acp_sys_lseek(file, 1, SEEK_SET), 1);
    std::array<char, 16> bytes{};
    EXPECT_EQ(acp_sys_read(file, bytes.data(), bytes.size()), 9);
    EXPECT_STREQ(bytes.data(), "12xy56789");
    EXPECT_EQ(acp_sys_pread(file, bytes.data(), 2, 3), 2);
    EXPECT_EQ(bytes[0], 'x');
    EXPECT_EQ(acp_sys_fsync(file), 0);
    const auto twin = static_cast<int>(acp_sys_dup(file));
    EXPECT_GT(twin, file);
    EXPECT_EQ(acp_sys_close(twin), 0);
    EXPECT_EQ(acp_sys_close(twin), -EBADF);
    EXPECT_EQ(acp_sys_close(file), 0);
    EXPECT_EQ(acp_sys_unlink(path.c_str()), 0);
    EXPECT_EQ(acp_sys_unlink(path.c_str()), -ENOENT);
    EXPECT_EQ(acp_sys_open(nullptr, 0, 0), -EFAULT);
    EXPECT_EQ(errno, 99);
}

TEST_F(SystemCallsTest, make_pipes_and_connect_sockets) {
    std::array<int, 2> ends{};
    ASSERT_EQ(acp_sys_pipe(ends.data()), 0);
    EXPECT_EQ(acp_sys_write(ends[1], "a", 1), 1);
    for (const int end : ends) EXPECT_EQ(acp_sys_close(end), 0);

    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // An abstract name.
    std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "acp-test-%d", getpid());
    const auto listening = static_cast<int>(acp_sys_socket(AF_UNIX, SOCK_STREAM, 0));
    EXPECT_EQ(acp_sys_bind(listening, &address, sizeof address), 0);
    EXPECT_EQ(acp_sys_listen(listening, 4), 0);
    const auto client = static_cast<int>(acp_sys_socket(AF_UNIX, SOCK_STREAM, 0));
    EXPECT_EQ(acp_sys_connect(client, &address, sizeof address), 0);
    const auto server = static_cast<int>(acp_sys_accept(listening));
    ASSERT_GE(server, 0);
    EXPECT_EQ(acp_sys_send(client, "hello", 5, 0), 5);
    std::array<char, 8> bytes{};
    EXPECT_EQ(acp_sys_recv(server, bytes.data(), 8, 0), 5);
    EXPECT_STREQ(bytes.data(), "hello");
    EXPECT_EQ(acp_sys_shutdown(client, SHUT_RDWR), 0);
    EXPECT_EQ(acp_sys_recv(server, bytes.data(), 8, 0), 0);
    for (const int socket : {listening, client, server}) EXPECT_EQ(acp_sys_close(socket), 0);
}

TEST_F(SystemCallsTest, go_to_the_carrier_of_their_thread_alone) {
    carry();
    EXPECT_EQ(acp_sys_close(-3), -77);
    ASSERT_EQ(calls_.size(), 1U);
    EXPECT_EQ(calls_[0].first, SystemCall::close);
    EXPECT_EQ(static_cast<std::int64_t>(calls_[0].second[0]), -3);
    std::thread([] { EXPECT_EQ(acp_sys_close(-3), -EBADF); }).join();
    const std::array<std::uint64_t, 6> words{1, 2, 3, 4, 5, 6};
    EXPECT_EQ(acp_sys_call(SYS_fallocate, words.data()), -77);
    EXPECT_EQ(calls_.back().first, SystemCall::fallocate);
    EXPECT_EQ(calls_.back().second, words);
    set_carrier(nullptr, nullptr);
    EXPECT_EQ(acp_sys_close(-3), -EBADF);
    EXPECT_EQ(calls_.size(), 2U);
}

TEST_F(SystemCallsTest, by_number_are_those_of_the_kernel_and_create_no_process) {
    const std::array<std::uint64_t, 6> none{};
    EXPECT_EQ(acp_sys_call(SYS_getpid, none.data()), getpid());
    EXPECT_EQ(acp_sys_call(100'000, none.data()), -ENOSYS);
    EXPECT_EQ(acp_sys_call(-1, none.data()), -ENOSYS);
    EXPECT_EQ(acp_sys_call(SYS_clone, none.data()), -ENOSYS);
    carry();
    EXPECT_EQ(acp_sys_call(SYS_clone3, none.data()), -ENOSYS);
    EXPECT_EQ(acp_sys_call(100'000, none.data()), -ENOSYS) << "no call of the table";
    EXPECT_TRUE(calls_.empty());
}

TEST_F(SystemCallsTest, of_a_forked_child_are_made_by_its_own_kernel) {
    carry();
    const pid_t child = fork();
    if (child == 0) _exit(acp_sys_close(-3) == -EBADF ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(acp_sys_close(-3), -77) << "the parent keeps its carrier";
}

}  // namespace
}  // namespace acp::device_side
