// SPDX-License-Identifier: BSD-3-Clause
// Searches the program.
#include "common/program.hpp"

#include "os/process.hpp"
#include "os/program_file.hpp"

#include "launch/exit_codes.hpp"

namespace acp::tool {

using os::FileKind;

namespace {

Program refused(int code, std::string problem, std::string hint) {
    return {"", code, std::move(problem), std::move(hint)};
}

Program by_path(const std::string& path) {
    switch (os::file_kind(path)) {
        case FileKind::program:
            return {path, 0, "", ""};
        case FileKind::directory:
            return refused(launch::exit_not_runnable, path + " is a directory", "");
        case FileKind::not_executable:
            return refused(launch::exit_not_runnable, path + " is not executable",
                           "chmod +x " + path + " makes it so");
        case FileKind::missing:
            break;
    }
    return refused(launch::exit_not_found, path + ": no such file", "");
}

}  // namespace

Program find_program(const std::string& name, std::string_view search_path) {
    if (name.find('/') != std::string::npos) return by_path(name);
    std::string refused_path;
    for (std::string_view rest = search_path;;) {
        const std::size_t colon = rest.find(':');
        const std::string directory(rest.substr(0, colon));
        const std::string path = (directory.empty() ? "." : directory) + "/" + name;
        const FileKind kind = name.empty() ? FileKind::missing : os::file_kind(path);
        if (kind == FileKind::program) return {path, 0, "", ""};
        if (kind == FileKind::not_executable && refused_path.empty()) refused_path = path;
        if (colon == std::string_view::npos) break;
        rest.remove_prefix(colon + 1);
    }
    if (!refused_path.empty()) return by_path(refused_path);
    const bool is_here = !name.empty() && os::file_kind("./" + name) == FileKind::program;
    return refused(launch::exit_not_found, "no program \"" + name + "\" in PATH",
                   is_here ? "there is one here: ./" + name : "");
}

std::optional<std::string> variable(const std::string& name) {
    const std::string prefix = name + "=";
    for (const std::string& entry : os::environment()) {
        if (entry.compare(0, prefix.size(), prefix) == 0) return entry.substr(prefix.size());
    }
    return std::nullopt;
}

std::string program_path() {
    return variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
}

}  // namespace acp::tool
