// SPDX-License-Identifier: BSD-3-Clause
// Other architectures have no user dispatch.
#include <cerrno>

#include "os/system_call_dispatch.hpp"

namespace acp::os {

Refusal probe_system_call_dispatch() noexcept {
    return ENOSYS;
}

Status prepare_system_call_dispatch(DispatchedCall /*handle*/) {
    return {base::Code::unsupported,
            "user dispatch of system calls exists on x86-64 alone: use ACP_SYSTEM_CALLS=native"};
}

void dispatch_system_calls(bool /*is_on*/) noexcept {}

}  // namespace acp::os
