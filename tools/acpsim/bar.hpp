// SPDX-License-Identifier: BSD-3-Clause
// A progress bar on a terminal's stderr, and nothing elsewhere. Main thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace acp::sim_tool {

class Bar {
public:
    Bar(std::string title, bool is_wanted);
    ~Bar();  // removes it
    Bar(const Bar&) = delete;
    Bar& operator=(const Bar&) = delete;

    //   note  beside it, such as a rate
    void show(std::uint64_t done, std::uint64_t all, const std::string& note);

private:
    std::string title_;
    bool is_shown_;
    std::chrono::steady_clock::time_point last_;
};

}  // namespace acp::sim_tool
