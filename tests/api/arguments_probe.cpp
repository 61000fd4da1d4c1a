// SPDX-License-Identifier: BSD-3-Clause
// Prints the arguments that acp_init has left, one per line, and its message about the others.
#include <cstdio>

#include <acp.h>

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "acp_init: error %d: %s\n", acp_errno(), acp_error_message());
        return 3;
    }
    std::printf("argc %d\n", argc);
    for (int index = 1; index < argc; ++index) {
        std::printf("argument %s\n", argv[index]);
    }
    std::printf("terminated %d\n", argv[argc] == nullptr ? 1 : 0);
    std::printf("starter %zu\n", acp_starter_size());
    return acp_finalize() == 0 ? 0 : 4;
}
