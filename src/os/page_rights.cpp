// SPDX-License-Identifier: BSD-3-Clause
// mprotect() and madvise(), without allocation where a signal handler may call.
#include "os/page_rights.hpp"

#include <cerrno>
#include <string>
#include <sys/mman.h>

#include "os/system_error.hpp"

namespace acp::os {

PageOutcome set_page_rights(char* address, std::uint64_t bytes, PageRights rights) noexcept {
    int protection = PROT_NONE;
    if (rights != PageRights::none) protection |= PROT_READ;
    if (rights == PageRights::read_write) protection |= PROT_WRITE;
    if (mprotect(address, bytes, protection) == 0) return {};
    return {"mprotect", errno, address, bytes};
}

Status keep_from_children(char* address, std::uint64_t bytes) {
    if (madvise(address, bytes, MADV_DONTFORK) == 0) return {};
    return system_failure("madvise(MADV_DONTFORK)", errno, std::to_string(bytes) + " bytes");
}

}  // namespace acp::os
