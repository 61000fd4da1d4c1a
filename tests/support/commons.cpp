// SPDX-License-Identifier: BSD-3-Clause
// An anonymous memory file, found again under /proc.
#include "support/commons.hpp"

#include <cstdint>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "support/ranked.hpp"
#include "support/system_failure.hpp"

namespace acp::test {
namespace {

int make_file(std::size_t bytes) {
    const int file = memfd_create("commons", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        end_by_errno("cannot make the common memory of a test");
    }
    return file;
}

}  // namespace

CommonMemory::CommonMemory(std::size_t bytes) : bytes_(bytes) {
    const bool is_maker = acp_rank() == 0;
    int file = is_maker ? make_file(bytes) : -1;
    const std::uint64_t process = exchange(static_cast<std::uint64_t>(getpid())).front();
    const std::uint64_t number = exchange(static_cast<std::uint64_t>(file)).front();
    if (!is_maker) {
        const std::string path =
            "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
        file = open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (file < 0) {
            end_by_errno("cannot open the common memory of rank 0");
        }
    }
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data_ == MAP_FAILED) {
        end_by_errno("cannot map the common memory of a test");
    }
    sync_ranks();  // all have opened it
    close(file);
}

CommonMemory::~CommonMemory() {
    munmap(data_, bytes_);
}

}  // namespace acp::test
