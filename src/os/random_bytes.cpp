// SPDX-License-Identifier: BSD-3-Clause
// Calls getrandom until all bytes are filled, or reads /dev/urandom where a sandbox refuses the
// call.
#include "os/random_bytes.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/random.h>
#include <system_error>
#include <unistd.h>

#include "os/file_descriptor.hpp"
#include "os/log_line.hpp"

namespace acp::os {

namespace {

[[noreturn]] void give_up(int refused, int error) {
    os::print_error(
        "acp: no random bytes for keys: getrandom failed: %s (errno %d), and /dev/urandom "
        "cannot be read: "
        "%s (errno %d); the sandbox this runs in must allow one of them\n",
        std::generic_category().message(refused).c_str(), refused,
        std::generic_category().message(error).c_str(), error);
    std::abort();
}

//   refused  the errno of getrandom
void read_device(std::span<std::byte> out, int refused) {
    const FileDescriptor device(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
    if (!device.is_open()) give_up(refused, errno);
    while (!out.empty()) {
        const ssize_t got = read(device.get(), out.data(), out.size());
        if (got == 0 || (got < 0 && errno != EINTR)) give_up(refused, got == 0 ? ENODATA : errno);
        if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace

void fill_random(std::span<std::byte> out) noexcept {
    while (!out.empty()) {
        const ssize_t got = getrandom(out.data(), out.size(), 0);
        if (got < 0 && errno != EINTR) return read_device(out, errno);
        if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
    }
}

}  // namespace acp::os
