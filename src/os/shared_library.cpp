// SPDX-License-Identifier: BSD-3-Clause
// Uses dlopen with RTLD_LOCAL, so that the library's symbols are not visible to the rest of the
// program.
#include "os/shared_library.hpp"

#include <dlfcn.h>

#include "os/limits.hpp"
#include "os/program_file.hpp"

namespace acp::os {

Result<SharedLibrary> SharedLibrary::open(std::span<const char* const> names) {
    std::string reasons;
    for (const char* name : names) {
        void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (handle != nullptr) return SharedLibrary(handle, name);
        const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): thread-local in glibc
        reasons += (reasons.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : name);
    }
    if (reasons.find("failed to map") != std::string::npos ||
        reasons.find("annot allocate memory") != std::string::npos) {
        return base::Status(base::Code::memory,
                            "the library is there, but there is no room for it (" +
                                address_space_text(0) + "): " + reasons);
    }
    if (reasons.find("Too many open files") != std::string::npos) {
        return base::Status(base::Code::limit,
                            "the library could not be opened: " + reasons +
                                "; descriptors allowed (RLIMIT_NOFILE, ulimit -n): " +
                                std::to_string(resource_limits().descriptors) + ", raise it");
    }
    return base::Status(base::Code::unsupported, "no such library was found: " + reasons);
}

Result<SharedLibrary> SharedLibrary::of_program() {
    void* const handle = dlopen(nullptr, RTLD_NOW);
    if (handle != nullptr) return SharedLibrary(handle, "");
    return base::Status(base::Code::unsupported, "the program has no table of symbols");
}

void SharedLibrary::Close::operator()(void* handle) const noexcept {
    dlclose(handle);
}

void* SharedLibrary::address_of(const char* symbol) const noexcept {
    return dlsym(handle_.get(), symbol);
}

namespace {

// The file of the module that this code is part of; nullptr: unknown, or a static program.
const char* own_module() noexcept {
    if (is_program_static()) return nullptr;
    Dl_info module{};
    const void* const inside = reinterpret_cast<const void*>(&keep_own_module_loaded);
    return dladdr(inside, &module) != 0 ? module.dli_fname : nullptr;
}

}  // namespace

std::string own_module_directory() {
    const char* const file = own_module();
    const std::string path = file != nullptr ? file : "";
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? executable_directory() : path.substr(0, slash);
}

void keep_own_module_loaded() noexcept {
    const char* const file = own_module();
    if (file == nullptr) return;
    // The handle is closed; the mark stays with the module. nullptr: it is the program, which stays
    // anyway.
    void* const handle = dlopen(file, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    if (handle != nullptr) dlclose(handle);
}

}  // namespace acp::os
