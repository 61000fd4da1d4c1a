// SPDX-License-Identifier: BSD-3-Clause
// Lines, events and datagrams.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "os/event.hpp"
#include "os/log_line.hpp"
#include "os/udp_socket.hpp"

namespace acp::os {
namespace {

constexpr std::int64_t for_ever = -1;

struct Pipe {
    Pipe() {
        int ends[2] = {-1, -1};
        EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        reading = FileDescriptor(ends[0]);
        writing = FileDescriptor(ends[1]);
    }

    std::string read_all() const {
        char text[1000];
        const ssize_t got = read(reading.get(), text, sizeof text);
        return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
    }

    FileDescriptor reading;
    FileDescriptor writing;
};

TEST(LogLine, ends_with_exactly_one_newline) {
    const Pipe pipe;
    write_line(pipe.writing.get(), "without");
    write_line(pipe.writing.get(), "with\n");
    write_line(pipe.writing.get(), "");
    EXPECT_EQ(pipe.read_all(), "without\nwith\n\n");
}

TEST(LogLine, is_one_packet_of_a_packet_pipe) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_DIRECT), 0);  // a read returns one write
    const FileDescriptor reading(ends[0]);
    const FileDescriptor writing(ends[1]);
    write_line(writing.get(), "first");
    write_line(writing.get(), "second");
    char text[100];
    EXPECT_EQ(read(reading.get(), text, sizeof text), 6);
    EXPECT_EQ(read(reading.get(), text, sizeof text), 7);
}

TEST(LogLine, survives_a_descriptor_that_takes_nothing) {
    write_line(-1, "nobody reads this");
    const Pipe pipe;
    const std::string much(100'000, 'x');  // more than the pipe holds
    write_line(pipe.writing.get(), much);
    EXPECT_FALSE(pipe.read_all().empty());
}

TEST(Event, is_drained_once_for_many_signals) {
    auto event = Event::create();
    ASSERT_TRUE(event.is_ok()) << event.failure().message();
    EXPECT_FALSE(event.value().drain());
    event.value().signal();
    event.value().signal();
    pollfd look{event.value().fd(), POLLIN, 0};
    EXPECT_EQ(poll(&look, 1, 0), 1);
    EXPECT_TRUE(event.value().drain());
    EXPECT_FALSE(event.value().drain());
    EXPECT_EQ(poll(&look, 1, 0), 0);
}

TEST(Event, an_inherited_one_is_copied_and_signalled_through_the_copy) {
    auto event = Event::create();
    ASSERT_TRUE(event.is_ok()) << event.failure().message();
    {
        const auto copy = adopt_event(event.value().fd());
        ASSERT_TRUE(copy.is_ok()) << copy.failure().message();
        EXPECT_NE(copy.value().get(), event.value().fd());
        EXPECT_EQ(fcntl(copy.value().get(), F_GETFD), FD_CLOEXEC);
        signal_event(copy.value().get());
    }
    EXPECT_TRUE(event.value().drain()) << "the copy is closed, the original is not";
}

TEST(Event, a_signal_is_not_written_into_a_file_that_took_its_number) {
    auto event = Event::create();
    ASSERT_TRUE(event.is_ok());
    const int file = memfd_create("of the program", MFD_CLOEXEC);
    EXPECT_TRUE(event.value().signal());
    ASSERT_EQ(dup2(file, event.value().fd()), event.value().fd());
    EXPECT_FALSE(event.value().signal());
    EXPECT_EQ(lseek(file, 0, SEEK_END), 0);
    close(event.value().fd());
    EXPECT_FALSE(event.value().signal()) << "closed";
    event.value().abandon();
    close(file);
}

TEST(Event, what_is_none_is_not_taken_for_one) {
    const Pipe pipe;
    for (const int fd : {-1, pipe.writing.get(), 1'000'000}) {
        const auto refused = adopt_event(fd);
        ASSERT_FALSE(refused.is_ok()) << fd;
        EXPECT_EQ(refused.failure().code(), base::Code::system);
    }
}

UdpSocket socket_with(std::uint32_t receive_buffer_bytes) {
    auto socket = UdpSocket::open_loopback(receive_buffer_bytes);
    EXPECT_TRUE(socket.is_ok()) << socket.failure().message();
    return std::move(socket).value();
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

TEST(UdpSocket, carries_head_and_body_as_one_datagram) {
    UdpSocket sender = socket_with(100'000);
    UdpSocket receiver = socket_with(100'000);
    EXPECT_NE(sender.port(), receiver.port());
    std::vector<std::byte> buffer(2000);
    EXPECT_EQ(receiver.receive(buffer), -1);
    ASSERT_TRUE(sender.send_to(receiver.port(), bytes_of("head"), bytes_of("body")));
    ASSERT_TRUE(sender.send_to(receiver.port(), bytes_of("second"), {}));
    ASSERT_TRUE(receiver.wait_readable(-1, for_ever));
    EXPECT_EQ(receiver.receive(buffer), 8);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(buffer.data()), 8), "headbody");
    ASSERT_TRUE(receiver.wait_readable(-1, for_ever));
    EXPECT_EQ(receiver.receive(buffer), 6);
    EXPECT_EQ(receiver.receive(buffer), -1);
}

TEST(UdpSocket, returns_the_full_size_of_a_truncated_datagram) {
    UdpSocket sender = socket_with(100'000);
    UdpSocket receiver = socket_with(100'000);
    ASSERT_TRUE(sender.send_to(receiver.port(), bytes_of(std::string(1408, 'x')), {}));
    ASSERT_TRUE(receiver.wait_readable(-1, for_ever));
    std::vector<std::byte> buffer(100);
    EXPECT_EQ(receiver.receive(buffer), 1408);
}

TEST(UdpSocket, refuses_a_datagram_longer_than_udp_allows) {
    UdpSocket sender = socket_with(100'000);
    const std::string longest(65'507, 'x');
    EXPECT_TRUE(sender.send_to(sender.port(), bytes_of(longest), {}));
    EXPECT_FALSE(sender.send_to(sender.port(), bytes_of(longest), bytes_of("x")));
}

TEST(UdpSocket, holds_as_many_datagrams_as_its_buffer_was_granted_for) {
    UdpSocket sender = socket_with(100'000);
    UdpSocket receiver = socket_with(200'000);
    ASSERT_GE(receiver.receive_buffer_bytes(), 100'000U);
    const std::string datagram(1408, 'x');
    const std::uint32_t fitting = receiver.receive_buffer_bytes() / 4096;
    for (std::uint32_t i = 0; i < fitting; ++i) {
        ASSERT_TRUE(sender.send_to(receiver.port(), bytes_of(datagram), {}));
    }
    std::vector<std::byte> buffer(2000);
    std::uint32_t received = 0;
    while (received < fitting && receiver.wait_readable(-1, 1'000'000'000)) {
        if (receiver.receive(buffer) == 1408) ++received;
    }
    EXPECT_EQ(received, fitting);
}

TEST(UdpSocket, is_woken_by_an_event_and_by_the_clock) {
    UdpSocket socket = socket_with(100'000);
    EXPECT_FALSE(socket.wait_readable(-1, 1'000'000));
    auto event = Event::create();
    ASSERT_TRUE(event.is_ok());
    EXPECT_FALSE(socket.wait_readable(event.value().fd(), 0));
    event.value().signal();
    EXPECT_TRUE(socket.wait_readable(event.value().fd(), for_ever));
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
