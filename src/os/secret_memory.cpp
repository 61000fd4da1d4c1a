// SPDX-License-Identifier: BSD-3-Clause
// One mapping of whole pages per object, its first and last page without any access.
#include "os/secret_memory.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>

#include "os/system_error.hpp"

namespace acp::os {

namespace {

constexpr std::size_t alignment = 64;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
}

}  // namespace

void wipe(std::span<std::byte> secret) noexcept {
    if (!secret.empty()) explicit_bzero(secret.data(), secret.size());
}

Result<SecretMemory> SecretMemory::allocate(std::size_t bytes) {
    if (bytes == 0) return base::Status(base::Code::argument, "cannot keep a secret of 0 bytes");
    const std::size_t page = page_bytes();
    const std::size_t room = rounded_up(bytes, page);
    auto mapping = Mapping::map_anonymous(room + 2 * page);
    if (!mapping.is_ok()) return std::move(mapping).failure().within("memory for keys");
    SecretMemory memory;
    memory.mapping_ = std::move(mapping).value();
    char* inside = memory.mapping_.data() + page;
    if (mprotect(inside - page, page, PROT_NONE) != 0 ||
        mprotect(inside + room, page, PROT_NONE) != 0) {
        return system_failure("mprotect", errno, "the guard pages of memory for keys");
    }
    if (madvise(inside, room, MADV_DONTDUMP) != 0 || madvise(inside, room, MADV_WIPEONFORK) != 0) {
        return base::Status(base::Code::unsupported,
                            "this kernel cannot keep memory out of core dumps and of children "
                            "(madvise, errno " +
                                std::to_string(errno) + "); Linux 4.14 or newer can");
    }
    memory.is_locked_ = mlock(inside, room) == 0;
    char* start = inside + room - rounded_up(bytes, alignment);
    memory.bytes_ = {reinterpret_cast<std::byte*>(start), bytes};
    return memory;
}

SecretMemory::SecretMemory(SecretMemory&& other) noexcept
    : mapping_(std::move(other.mapping_)),
      bytes_(std::exchange(other.bytes_, {})),
      is_locked_(std::exchange(other.is_locked_, false)) {}

SecretMemory& SecretMemory::operator=(SecretMemory&& other) noexcept {
    if (this != &other) {
        release();
        mapping_ = std::move(other.mapping_);
        bytes_ = std::exchange(other.bytes_, {});
        is_locked_ = std::exchange(other.is_locked_, false);
    }
    return *this;
}

// Unmapping unlocks.
void SecretMemory::release() noexcept {
    wipe(bytes_);
    bytes_ = {};
    mapping_.unmap();
}

}  // namespace acp::os
