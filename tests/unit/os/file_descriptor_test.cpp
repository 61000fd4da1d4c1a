// SPDX-License-Identifier: BSD-3-Clause
// Descriptors that get the numbers of closed standard streams.
#include "os/file_descriptor.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/event.hpp"
#include "os/pipe.hpp"
#include "os/poll_set.hpp"

namespace acp::os {
namespace {

// The standard streams are closed as long as it lives.
class ClosedStreams {
public:
    ClosedStreams() {
        for (int stream = 0; stream < 3; ++stream) {
            kept_[static_cast<std::size_t>(stream)] = fcntl(stream, F_DUPFD_CLOEXEC, 100);
            close(stream);
        }
    }

    ClosedStreams(const ClosedStreams&) = delete;
    ClosedStreams& operator=(const ClosedStreams&) = delete;

    ~ClosedStreams() {
        for (int stream = 0; stream < 3; ++stream) {
            dup2(kept_[static_cast<std::size_t>(stream)], stream);
            close(kept_[static_cast<std::size_t>(stream)]);
        }
    }

private:
    std::array<int, 3> kept_{};
};

bool are_streams_closed() {
    return fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0;
}

TEST(FileDescriptorNumbers, stay_above_the_closed_standard_streams) {
    bool is_above = false;
    bool is_closed_on_exec = false;
    bool is_pipe_right = false;
    {
        const ClosedStreams closed;
        const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
        is_above = null.get() >= FileDescriptor::standard_streams && are_streams_closed();
        is_closed_on_exec = (fcntl(null.get(), F_GETFD) & FD_CLOEXEC) != 0;
        auto pipe = make_pipe();
        auto event = Event::create();
        auto set = PollSet::create();
        is_pipe_right = pipe.is_ok() && event.is_ok() && set.is_ok() && are_streams_closed() &&
                        write_all(pipe.value().writing.get(), "x") == 0;
    }
    EXPECT_TRUE(is_above);
    EXPECT_TRUE(is_closed_on_exec);
    EXPECT_TRUE(is_pipe_right);
}

TEST(FileDescriptorNumbers, are_an_error_where_none_is_left_above_the_streams) {
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    bool is_empty = false;
    bool is_pipe_refused = false;
    int error = 0;
    {
        const ClosedStreams closed;
        rlimit none = limit;
        none.rlim_cur = FileDescriptor::standard_streams;
        setrlimit(RLIMIT_NOFILE, &none);
        const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
        error = errno;
        is_empty = !null.is_open();
        is_pipe_refused = make_pipe().failure().code() == base::Code::limit && are_streams_closed();
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    EXPECT_TRUE(is_empty);
    EXPECT_TRUE(is_pipe_refused);
    EXPECT_EQ(error, EMFILE);
}

TEST(FileDescriptorNumbers, of_a_standard_stream_stay) {
    FileDescriptor stream = FileDescriptor::of_standard_stream(1);
    EXPECT_EQ(stream.get(), 1);
    EXPECT_EQ(stream.release(), 1);
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
