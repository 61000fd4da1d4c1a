// SPDX-License-Identifier: BSD-3-Clause
// The libraries that a worker process has loaded for its owner, by numbers. One thread.
// Tests: tests/unit/worker/libraries_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.hpp"
#include "os/shared_library.hpp"

namespace acp::worker {

using base::Result;

class Libraries {
public:
    // Loads a library; returns its number, from 1, which no other library gets.
    //   path  as dlopen takes it
    // Errors: those of os::SharedLibrary::open.
    Result<std::uint64_t> load(const std::string& path);

    // Unloads a library; false: there is none of that number.
    bool unload(std::uint64_t number);

    // The address of a symbol of a library; 0: the library or the symbol does not exist.
    //   number  0: the program itself, with the libraries that it was linked with
    [[nodiscard]] std::uint64_t find(std::uint64_t number, const std::string& symbol) const;

private:
    std::map<std::uint64_t, os::SharedLibrary> loaded_;
    std::uint64_t last_number_ = 0;
};

}  // namespace acp::worker
