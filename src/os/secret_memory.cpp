// SPDX-License-Identifier: BSD-3-Clause
// One mapping of whole pages per object, between two guard pages that allow no access.
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

void zero_vector_registers() noexcept {
#if defined(__x86_64__)
    // The compiler does not use registers 16 to 31 here; the clobbers of the next statement declare
    // the effect of vzeroall.
    if (__builtin_cpu_supports("avx512f")) {
        asm volatile(
            ".irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
            "vpxorq %zmm\\n, %zmm\\n, %zmm\\n\n\t"
            ".endr");
    }
    if (__builtin_cpu_supports("avx")) asm volatile("vzeroall");
    asm volatile(
        ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"
        "pxor %%xmm\\n, %%xmm\\n\n\t"
        ".endr" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
              "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
    asm volatile(  // 8 to 15 are saved by the callee and belong to the caller
        ".irp n, 0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
        "movi v\\n\\().2d, #0\n\t"
        ".endr" ::
            : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20",
              "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}

}  // namespace

void wipe(std::span<std::byte> secret) noexcept {
    if (!secret.empty()) explicit_bzero(secret.data(), secret.size());
    zero_vector_registers();
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

// Unmapping the pages also unlocks them.
void SecretMemory::release() noexcept {
    wipe(bytes_);
    bytes_ = {};
    mapping_.unmap();
}

}  // namespace acp::os
