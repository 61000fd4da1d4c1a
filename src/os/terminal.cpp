// SPDX-License-Identifier: BSD-3-Clause
// Asks the terminal driver.
#include "os/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace acp::os {

bool is_terminal(int fd) noexcept {
    return isatty(fd) == 1;
}

std::size_t terminal_columns(int fd) noexcept {
    winsize size{};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace acp::os
