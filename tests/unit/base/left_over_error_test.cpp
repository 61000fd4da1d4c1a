// SPDX-License-Identifier: BSD-3-Clause
// The errors after which a send is repeated.
#include "base/left_over_error.hpp"

#include <cerrno>
#include <gtest/gtest.h>

namespace acp::base {
namespace {

TEST(LeftOverError, is_whatever_an_icmp_message_can_leave_in_a_socket) {
    for (const int error : {ENETUNREACH, EHOSTUNREACH, ENOPROTOOPT, ECONNREFUSED, EMSGSIZE,
                            EHOSTDOWN, ENONET, EPROTO, EOPNOTSUPP, EACCES, EINTR}) {
        EXPECT_TRUE(may_be_left_over(error)) << error;
    }
}

TEST(LeftOverError, is_no_error_of_the_call_itself) {
    for (const int error : {EAGAIN, ENOBUFS, ENOMEM, EBADF, EINVAL, EIO, EPERM, EFAULT, 0}) {
        EXPECT_FALSE(may_be_left_over(error)) << error;
    }
}

}  // namespace
}  // namespace acp::base
