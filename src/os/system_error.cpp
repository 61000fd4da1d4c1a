// SPDX-License-Identifier: BSD-3-Clause
// Chooses a code and writes the message of a failed system call.
#include "os/system_error.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include "os/limits.hpp"

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
        case EFBIG:
            code = Code::limit;
            advice = "; raise the limit of the size of files";
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
        if (error == EFBIG) message += ", " + file_size_limit_text();
        return message + advice;
    });
}

}  // namespace acp::os
