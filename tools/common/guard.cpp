// SPDX-License-Identifier: BSD-3-Clause
// Telling the failure takes no memory: the line is made in a fixed array, and the host's name is
// asked for beforehand.
#include "guard.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/limits.hpp"
#include "os/log_line.hpp"
#include "os/process.hpp"
#include "os/standard_streams.hpp"

namespace acp::tool {

namespace {

constexpr std::uint64_t patience_ns = 10'000'000'000;  // with children that do not die

constexpr int exit_unavailable = 69;  // EX_UNAVAILABLE of sysexits

// run_guarded() writes it before it runs the body; the first thread that fails reads it. Before
// main the tool is called what its file is.
Guard present{nullptr, exit_unavailable};
std::array<char, 256> host{"unknown-host"};

void tell(const char* what, const char* limits) noexcept {
    std::array<char, 1024> line{};
    const char* const tool = present.tool != nullptr ? present.tool : program_invocation_short_name;
    std::snprintf(line.data(), line.size(), "%s: on %s: %s%s", tool, host.data(), what, limits);
    os::write_line(os::standard_error, line.data());
}

void tell_refused_memory() noexcept {
    tell("memory was refused, and the work cannot go on", os::memory_limit_text().data());
}

// Prints the exception that is being handled. If the memory for an exception is refused, the C++
// runtime terminates the process with no exception: then the message is that of refused memory.
void tell_exception() noexcept {
    if (!std::current_exception()) return tell_refused_memory();
    try {
        throw;
    } catch (const std::bad_alloc&) {
        tell_refused_memory();
    } catch (const std::exception& error) {
        tell(error.what(), "");
    } catch (...) {
        tell("something was thrown that is no std::exception", "");
    }
}

[[noreturn]] void on_terminate() noexcept {
    static std::atomic<bool> is_told{false};
    // relaxed: only the first failing thread prints, and it publishes no other data
    if (!is_told.exchange(true, std::memory_order_relaxed)) tell_exception();
    std::_Exit(present.failure_code);
}

// Made before the objects of the tool whose making may be refused memory.
struct EarlyWatch {
    EarlyWatch() noexcept {
        std::set_terminate(on_terminate);
        std::snprintf(host.data(), host.size(), "%s", os::host_name().c_str());
    }
};

[[gnu::init_priority(101)]] const EarlyWatch early_watch;

void end_children() noexcept {
    try {
        os::end_all_children(os::now_ns() + patience_ns);
    } catch (
        const std::exception&) {  // no memory for their list: they end because this process does
    }
}

}  // namespace

int finish_output(int code) noexcept {
    // std::cout writes through stdout, which remembers a failure.
    std::cout.flush();
    const bool is_flushed = std::fflush(stdout) == 0;
    if (is_flushed && std::ferror(stdout) == 0 && !std::cout.bad()) return code;
    std::fprintf(stderr, "%s: cannot write standard output\n", present.tool);
    return code == 0 ? exit_output : code;
}

int run_guarded(const Guard& guard, Body body, int argc, char** argv) noexcept {
    present = guard;
    try {
        return finish_output(body(argc, argv));
    } catch (...) {
        tell_exception();
    }
    end_children();
    return guard.failure_code;
}

}  // namespace acp::tool
