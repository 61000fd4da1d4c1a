// SPDX-License-Identifier: BSD-3-Clause
// Chooses a code and writes the message of a failed system call.
#include "os/system_error.hpp"

#include <cerrno>
#include <system_error>

namespace acp::os {

base::Status system_failure(const char* call, int error, const std::string& detail) {
    using base::Code;
    Code code = Code::system;
    const char* advice = "";
    switch (error) {
        case EMFILE:
            code = Code::limit;
            advice = "; raise the limit of open files (ulimit -n)";
            break;
        case ENFILE:
            code = Code::limit;
            advice = "; the whole machine is out of open files (sysctl fs.file-max)";
            break;
        case ENOMEM:
        case ENOSPC:
            code = Code::memory;
            break;
        case ENOSYS:
            code = Code::unsupported;
            break;
        default:
            break;
    }
    return base::Status::worded(code, [&] {
        std::string message = std::string(call) +
                              " failed: " + std::generic_category().message(error) + " (errno " +
                              std::to_string(error) + ")";
        if (!detail.empty()) message += ", " + detail;
        return message + advice;
    });
}

}  // namespace acp::os
