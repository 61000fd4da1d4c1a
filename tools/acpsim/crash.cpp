// SPDX-License-Identifier: BSD-3-Clause
// Names the seed when the simulated library breaks an assertion or runs wild: the process ends, but
// not mute. Any thread.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "commands.hpp"

namespace acp::sim_tool {

namespace {

thread_local char message[160] = "acpsim: crashed outside any seed\n";

void on_crash(int number) {
    // Only what is allowed in a signal handler; the thread that crashed is the one that runs this.
    const ssize_t written = ::write(STDERR_FILENO, message, std::strlen(message));
    std::signal(number, SIG_DFL);
    ::_exit(written < 0 ? 2 : 1);
}

}  // namespace

std::string replay_command(std::uint64_t seed, const std::string& scale) {
    return "acpsim replay " + std::to_string(seed) + " --scale " + scale + " --trace";
}

void name_crash(std::uint64_t seed, const std::string& scale) noexcept {
    std::snprintf(message, sizeof message,
                  "acpsim: seed %llu: crashed; replay: acpsim replay %llu --scale %s --trace\n",
                  static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed),
                  scale.c_str());
}

void watch_crashes() noexcept {
    for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
        std::signal(number, on_crash);
}

}  // namespace acp::sim_tool
