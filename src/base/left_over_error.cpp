// SPDX-License-Identifier: BSD-3-Clause
// Lists the errors that Linux makes of ICMP messages: types 3 (unreachable), 4, 11 and 12 of IPv4,
// 1 to 4 of IPv6.
#include "base/left_over_error.hpp"

#include <cerrno>

namespace acp::base {

bool may_be_left_over(int error) noexcept {
    switch (error) {
        case EINTR:  // caused by a signal, not by a datagram
        case ECONNREFUSED:
        case ENETUNREACH:
        case EHOSTUNREACH:
        case EHOSTDOWN:
        case ENONET:
        case ENOPROTOOPT:
        case EPROTO:
        case EOPNOTSUPP:
        case EMSGSIZE:
        case EACCES:
            return true;
        default:
            return false;
    }
}

}  // namespace acp::base
