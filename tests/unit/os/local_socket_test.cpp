// SPDX-License-Identifier: BSD-3-Clause
// Messages with descriptors between two ends, and each way in which one does not arrive.
#include "os/local_socket.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>

#include "os/pipe.hpp"
#include "os/process.hpp"

namespace acp::os {
namespace {

using base::Code;

constexpr std::uint64_t patience_ns = 60'000'000'000;

class LocalSocketTest : public ::testing::Test {
protected:
    void SetUp() override {
        auto listening = listen_locally(name_);
        ASSERT_TRUE(listening.is_ok()) << listening.failure().message();
        listening_ = std::move(listening).value();
        auto near = connect_locally(name_, patience_ns);
        ASSERT_TRUE(near.is_ok()) << near.failure().message();
        near_ = std::move(near).value();
        far_ = accept_locally(listening_.get());
        ASSERT_TRUE(far_.is_open());
    }

    const std::string name_ = "acp-test-" + std::to_string(own_pid());
    FileDescriptor listening_;
    FileDescriptor near_;
    FileDescriptor far_;
};

TEST_F(LocalSocketTest, a_message_comes_whole_and_apart_from_the_next) {
    ASSERT_TRUE(send_locally(near_.get(), "one"));
    ASSERT_TRUE(send_locally(near_.get(), std::string(local_message_bytes_max, 'x')));
    EXPECT_EQ(receive_locally(far_.get()).value().text, "one");
    EXPECT_EQ(receive_locally(far_.get()).value().text.size(), local_message_bytes_max);
    EXPECT_FALSE(send_locally(near_.get(), ""));
    EXPECT_FALSE(send_locally(near_.get(), std::string(local_message_bytes_max + 1, 'x')));
}

TEST_F(LocalSocketTest, descriptors_come_as_copies) {
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe.is_ok());
    std::array<int, local_message_files_max> files{};
    files.fill(pipe.value().writing.get());
    ASSERT_TRUE(send_locally(near_.get(), "files", files));
    auto message = receive_locally(far_.get());
    ASSERT_TRUE(message.is_ok());
    ASSERT_EQ(message.value().files.size(), local_message_files_max);
    EXPECT_EQ(write_all(message.value().files.back().get(), "y"), 0);
    std::array<char, 4> room{};
    EXPECT_EQ(read_some(pipe.value().reading.get(), room).bytes, 1U);
    std::array<int, local_message_files_max + 1> more{};
    more.fill(pipe.value().writing.get());
    EXPECT_FALSE(send_locally(near_.get(), "too many", more));
}

TEST_F(LocalSocketTest, the_end_of_the_other_side_is_noticed) {
    EXPECT_EQ(receive_locally(far_.get()).failure().code(), Code::state) << "nothing has come yet";
    near_.close();
    EXPECT_TRUE(receive_locally(far_.get()).value().text.empty());
    EXPECT_FALSE(send_locally(far_.get(), "late"));
}

TEST_F(LocalSocketTest, a_wait_ends_by_its_patience) {
    const auto asking = connect_locally(name_, 1'000'000);
    ASSERT_TRUE(asking.is_ok());
    EXPECT_EQ(receive_locally(asking.value().get()).failure().code(), Code::state);
}

TEST_F(LocalSocketTest, names_are_found_or_refused) {
    EXPECT_FALSE(listen_locally(name_).is_ok()) << "in use";
    EXPECT_EQ(connect_locally(name_ + "x", patience_ns).failure().code(), Code::peer);
    for (const std::string& name : {std::string(), std::string(200, 'x')}) {
        EXPECT_EQ(listen_locally(name).failure().code(), Code::argument);
        EXPECT_EQ(connect_locally(name, patience_ns).failure().code(), Code::argument);
    }
}

TEST_F(LocalSocketTest, both_ends_know_the_user_of_the_other) {
    EXPECT_TRUE(is_own_user(near_.get()));
    EXPECT_TRUE(is_own_user(far_.get()));
    EXPECT_FALSE(is_own_user(-1));
    EXPECT_FALSE(accept_locally(listening_.get()).is_open()) << "nobody waits";
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
