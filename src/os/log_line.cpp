// SPDX-License-Identifier: BSD-3-Clause
// Writes the line and a newline by one writev.
#include "os/log_line.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <sys/uio.h>

#include "os/file_size_signal.hpp"

namespace acp::os {

void write_line(int fd, std::string_view line) noexcept {
    if (line.ends_with('\n')) line.remove_suffix(1);
    const FileSizeSignalBlock no_signal;
    char newline = '\n';
    for (;;) {
        const iovec pieces[2] = {{const_cast<char*>(line.data()), line.size()}, {&newline, 1}};
        const ssize_t written = writev(fd, pieces, 2);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 || static_cast<std::size_t>(written) > line.size()) return;
        line.remove_prefix(static_cast<std::size_t>(written));
    }
}

void print_error(const char* format, ...) noexcept {
    const FileSizeSignalBlock no_signal;
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(stderr, format, arguments);
    va_end(arguments);
}

}  // namespace acp::os
