// SPDX-License-Identifier: BSD-3-Clause
// Answers questions about program files from the file system.
#include "os/program_file.hpp"

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

namespace acp::os {

namespace {

// The path of the running program. Without /proc it is the name that was passed to exec, which
// acprun or a shell's search made a path.
std::string executable_path() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length > 0) return {path, static_cast<std::size_t>(length)};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's answer is an address
    const char* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    if (started_as == nullptr || realpath(started_as, path) == nullptr) return "";
    return path;
}

}  // namespace

FileKind file_kind(const std::string& path) {
    struct stat information {};

    if (stat(path.c_str(), &information) != 0) return FileKind::missing;
    if (S_ISDIR(information.st_mode)) return FileKind::directory;
    if (access(path.c_str(), X_OK) != 0) return FileKind::not_executable;
    return FileKind::program;
}

bool is_program_static() noexcept {
    bool has_loader = false;
    const auto look = [](dl_phdr_info* object, std::size_t, void* found) {
        for (std::uint32_t i = 0; i < object->dlpi_phnum; ++i) {
            if (object->dlpi_phdr[i].p_type == PT_INTERP) *static_cast<bool*>(found) = true;
        }
        return 1;  // only the first object, which is the program
    };
    dl_iterate_phdr(look, &has_loader);
    return !has_loader;
}

std::string executable_directory() {
    const std::string whole = executable_path();
    return whole.substr(0, whole.rfind('/'));
}

}  // namespace acp::os
