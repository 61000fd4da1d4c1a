// SPDX-License-Identifier: BSD-3-Clause
// A process requests its node's files, and an agent answers: which processes get them, and the
// messages for the others.
#include "job/node_files.hpp"

#include <array>
#include <gtest/gtest.h>
#include <thread>

#include "os/life_lock.hpp"
#include "os/local_socket.hpp"
#include "os/memory_file.hpp"
#include "os/pipe.hpp"
#include "os/poll_set.hpp"

namespace acp::job {
namespace {

using base::Code;

class NodeFilesTest : public ::testing::Test {
protected:
    void SetUp() override {
        auto listening = os::listen_locally(socket_.name);
        ASSERT_TRUE(listening.is_ok()) << listening.failure().message();
        listening_ = std::move(listening).value();
        auto file = os::create_memory_file("acp-test", 4096);
        ASSERT_TRUE(file.is_ok());
        file_ = std::move(file).value();
        auto pipe = os::make_pipe();
        ASSERT_TRUE(pipe.is_ok());
        pipe_ = std::move(pipe).value();
    }

    // Answers one process as an agent does.
    void answer() {
        ASSERT_TRUE(os::wait_readable(listening_.get(), -1, -1));
        const os::FileDescriptor connection = os::accept_locally(listening_.get());
        ASSERT_TRUE(connection.is_open());
        const std::array<int, 2> files{file_.get(), pipe_.writing.get()};
        while (!answer_request(connection.get(), socket_, files)) {
            ASSERT_TRUE(os::wait_readable(connection.get(), -1, -1));
        }
    }

    const NodeSocket socket_ = NodeSocket::invent();
    os::FileDescriptor listening_;
    os::FileDescriptor file_;
    os::Pipe pipe_;
};

TEST_F(NodeFilesTest, gives_copies_of_the_files_in_their_order) {
    std::thread agent([&] { answer(); });
    const auto files = ask_for_node_files(socket_);
    agent.join();
    ASSERT_TRUE(files.is_ok()) << files.failure().message();
    ASSERT_EQ(files.value().size(), 2U);
    EXPECT_EQ(os::identity_of_file(files.value()[0].get()), os::identity_of_file(file_.get()));
    EXPECT_TRUE(os::adopt_memory_file(files.value()[0].get()).is_ok());
    EXPECT_EQ(os::write_all(files.value()[1].get(), "x"), 0);
    EXPECT_TRUE(os::wait_readable(pipe_.reading.get(), -1, 0));
}

TEST_F(NodeFilesTest, a_wrong_token_is_refused_by_name) {
    std::thread agent([&] { answer(); });
    const auto files = ask_for_node_files({socket_.name, NodeSocket::invent().token});
    agent.join();
    ASSERT_FALSE(files.is_ok());
    EXPECT_EQ(files.failure().code(), Code::state);
    EXPECT_NE(files.failure().message().find("ACP_NODE_SOCKET"), std::string::npos)
        << files.failure().message();
}

TEST_F(NodeFilesTest, an_agent_that_is_gone_is_named) {
    listening_.close();
    const auto files = ask_for_node_files(socket_);
    ASSERT_FALSE(files.is_ok());
    EXPECT_EQ(files.failure().code(), Code::peer);
}

TEST_F(NodeFilesTest, an_agent_that_ends_before_it_answers_is_noticed) {
    std::thread agent([&] {
        ASSERT_TRUE(os::wait_readable(listening_.get(), -1, -1));
        os::accept_locally(listening_.get()).close();
    });
    const auto files = ask_for_node_files(socket_);
    agent.join();
    ASSERT_FALSE(files.is_ok());
    EXPECT_EQ(files.failure().code(), Code::peer) << files.failure().message();
}

TEST_F(NodeFilesTest, a_connection_that_has_asked_nothing_yet_stays_open) {
    const auto asking = os::connect_locally(socket_.name, 1'000'000'000);
    ASSERT_TRUE(asking.is_ok());
    const os::FileDescriptor connection = os::accept_locally(listening_.get());
    EXPECT_FALSE(answer_request(connection.get(), socket_, {}));
    ASSERT_TRUE(os::send_locally(asking.value().get(), socket_.token));
    EXPECT_TRUE(answer_request(connection.get(), socket_, {}));
}

TEST(NodeSocketTest, no_two_are_alike_and_the_text_leads_back) {
    const NodeSocket one = NodeSocket::invent();
    const NodeSocket other = NodeSocket::invent();
    EXPECT_NE(one.name, other.name);
    EXPECT_NE(one.token, other.token);
    const auto again = NodeSocket::from(one.text());
    ASSERT_TRUE(again.is_ok());
    EXPECT_EQ(again.value().name, one.name);
    EXPECT_EQ(again.value().token, one.token);
}

}  // namespace
}  // namespace acp::job
