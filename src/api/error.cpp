// SPDX-License-Identifier: BSD-3-Clause
// <acp/error.h>.
#include "api/last_error.hpp"

#include <acp/error.h>

namespace acp::api {

LastError& last_error() noexcept {
    static thread_local constinit LastError error;
    return error;
}

}  // namespace acp::api

extern "C" {

int acp_errno(void) {
    return acp::api::last_error().code();
}

void acp_clear_errno(void) {
    acp::api::last_error().clear();
}

const char* acp_error_message(void) {
    return acp::api::last_error().text();
}

const char* acp_strerror(int code) {
    return acp::base::phrase(static_cast<acp::base::Code>(code));
}
}
