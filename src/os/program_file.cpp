// SPDX-License-Identifier: BSD-3-Clause
// Questions about programs to the file system.
#include "os/program_file.hpp"

#include <climits>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace acp::os {

FileKind file_kind(const std::string& path) {
    struct stat information {};

    if (stat(path.c_str(), &information) != 0) return FileKind::missing;
    if (S_ISDIR(information.st_mode)) return FileKind::directory;
    if (access(path.c_str(), X_OK) != 0) return FileKind::not_executable;
    return FileKind::program;
}

std::string executable_directory() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) return "";
    const std::string_view whole(path, static_cast<std::size_t>(length));
    return std::string(whole.substr(0, whole.rfind('/')));
}

}  // namespace acp::os
