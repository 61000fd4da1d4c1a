// SPDX-License-Identifier: BSD-3-Clause
// A library that is found and loaded at run time, and its functions by name. Knows nothing of what
// they do; the caller declares their types. Any thread; control paths only.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"

namespace acp::os {

using base::Result;

class SharedLibrary {
public:
    // Loads the first of several file names ("libcrypto.so.3") that the dynamic loader finds, and
    // keeps it loaded while the object lives. Errors: unsupported (none was found; the message has
    // the loader's words about each), memory (one was found, but the address space has no room for
    // it), limit (no descriptor is left to read it).
    static Result<SharedLibrary> open(std::span<const char* const> names);

    // The running program, and the libraries that it was linked with or that were loaded before it.
    static Result<SharedLibrary> of_program();

    // The file name that was found; "" of the program.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    // Looks a function up and stores its address; false when the library has no function of that
    // name.
    template <typename Function>
    bool find(const char* symbol, Function*& function) const noexcept {
        function = reinterpret_cast<Function*>(address_of(symbol));
        return function != nullptr;
    }

private:
    struct Close {
        void operator()(void* handle) const noexcept;
    };

    SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

    [[nodiscard]] void* address_of(const char* symbol) const noexcept;

    std::unique_ptr<void, Close> handle_;
    std::string name_;
};

// The directory of the module that this code is part of: of libacp.so, or of the program; without a
// trailing slash. "" if the loader does not know it.
[[nodiscard]] std::string own_module_directory();

// Keeps the module that this code is part of loaded until the process ends, also where the program
// closes it by dlclose(): a library, or a plugin with the static library inside. Does nothing in a
// program that is linked statically.
void keep_own_module_loaded() noexcept;

}  // namespace acp::os
