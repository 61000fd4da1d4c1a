// SPDX-License-Identifier: BSD-3-Clause
// Replaces ssh between two networks of a test (support/joined_networks.hpp): HOST COMMAND runs the
// command in the network that TEST_NETWORK_HOST names, by a shell like a login.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <unistd.h>

int main(int count, char** arguments) {
    if (count != 3) {
        std::fprintf(stderr, "usage: %s HOST COMMAND\n", arguments[0]);
        return 255;
    }
    const char* path = std::getenv(("TEST_NETWORK_" + std::string(arguments[1])).c_str());
    const int network = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (network < 0 || setns(network, CLONE_NEWNET) != 0) {
        std::perror(path == nullptr ? "no such host" : path);
        return 255;
    }
    execl("/bin/sh", "sh", "-c", arguments[2], static_cast<char*>(nullptr));
    std::perror("/bin/sh");
    return 255;
}
