// SPDX-License-Identifier: BSD-3-Clause
// The names of functions of device processes, as the program has found them by name, for messages.
// Any thread.
// Tests: tests/unit/offload/device_calls_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace acp::offload {

class FunctionNames {
public:
    //   process  process id of the device process
    void add(int process, std::uint64_t function, const std::string& name) noexcept;

    // "add"; "at 0x7f3a...", if the name is not known.
    [[nodiscard]] std::string name_of(int process, std::uint64_t function) const;

private:
    static constexpr std::size_t names_max = 4096;  // others are shown by their address

    mutable std::mutex mutex_;  // held for a moment, also under the lock of gma's commands
    std::map<std::pair<int, std::uint64_t>, std::string> names_;
};

}  // namespace acp::offload
