// SPDX-License-Identifier: BSD-3-Clause
// Keeps a failure, and ends the process by it.
#include "api/boundary.hpp"

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "api/fatal.hpp"
#include "api/last_error.hpp"
#include "os/limits.hpp"
#include "os/process.hpp"

namespace acp::api {

namespace {

// Before acp_init has read the configuration this reads the variable itself. acp_init reports a
// value that does not parse.
bool is_returned_by_environment() {
    constexpr std::string_view wanted = "ACP_ON_ERROR=return";
    for (const std::string& entry : os::environment()) {
        if (entry == wanted) return true;
    }
    return false;
}

bool are_failures_fatal() noexcept {
    const Library& instance = library();
    if (instance.is_configured.load(std::memory_order_acquire)) {
        return instance.config.on_error == base::OnError::fatal;
    }
    try {
        return !is_returned_by_environment();
    } catch (const std::exception&) {
        return true;
    }
}

// The text, with the limits on this process's memory.
std::array<char, 448> with_limits(std::string_view text) noexcept {
    std::array<char, 448> all{};
    std::snprintf(all.data(), all.size(), "%.*s%s", static_cast<int>(text.size()), text.data(),
                  os::memory_limit_text().data());
    return all;
}

// "acp_query_ga by rank 2 on host: ...". The failure of a command that the program issued, or of a
// container, has the name of its call already; that of a step within a call ("a read by rank 2 on
// host: ...") has not.
std::string named_message(const char* call, std::string_view message) {
    const std::string by = " by " + own_name();
    if (message.starts_with("acp_") && message.find(by) != std::string_view::npos)
        return std::string(message);
    const std::string_view name(call);
    if (message.starts_with(name) && message.substr(name.size()).starts_with(": "))
        message.remove_prefix(name.size() + 2);
    return std::string(name).append(by).append(": ").append(message);
}

}  // namespace

void end_if_fatal() noexcept {
    if (are_failures_fatal()) end_by_error(last_error().text());
}

void tell(base::Code code, const char* call, const char* text, bool is_fatal) noexcept {
    const os::CancellationHold cancellation;
    if (code == base::Code::memory) {
        last_error().set(code, call, with_limits(text).data());
    } else {
        last_error().set(code, call, text);
    }
    if (is_fatal) end_if_fatal();
}

void tell(const char* call, const base::Status& failure, bool is_fatal) noexcept {
    const os::CancellationHold cancellation;
    // A failure without memory for its own message: the process's memory limits explain it.
    const bool is_wordless =
        failure.code() == base::Code::memory &&
        failure.message().ends_with(base::Status::bare(base::Code::memory).message());
    if (is_wordless) {
        last_error().set(failure.code(), with_limits(failure.message()).data());
    } else {
        try {
            last_error().set(failure.code(), named_message(call, failure.message()));
        } catch (const std::exception&) {  // no memory for the longer message
            last_error().set(failure);
        }
    }
    if (is_fatal) end_if_fatal();
}

void refuse(const char* call, bool is_fatal) noexcept {
    const os::CancellationHold cancellation;
    std::string by;
    try {
        by = " by " + own_name();
    } catch (const std::exception&) {  // no memory: the reason alone
        by.clear();
    }
    std::array<char, 512> text{};
    const base::Code code = library().life.explain(call, by.c_str(), text);
    last_error().set(code, text.data());
    if (is_fatal) end_if_fatal();
}

}  // namespace acp::api
