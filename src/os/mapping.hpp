// SPDX-License-Identifier: BSD-3-Clause
// Parts of this process's address space: owned mappings, replacement of the pages of a range, and
// the check that a range named by the user is memory that can be read and written. Knows nothing of
// the memory's content. Any thread; two threads must not replace the same range at once.
#pragma once

#include <cstdint>
#include <utility>

#include "base/status.hpp"

namespace acp::os {

using base::Result;
using base::Status;

// An owned mapping, readable and (except map_shared_read_only) writable; the destructor unmaps it.
class Mapping {
public:
    Mapping() noexcept = default;

    // Maps the first bytes of a file, shared with all that map it. fd may be closed afterwards.
    // Errors: memory (address space used up, message says RLIMIT_AS), argument (0 bytes), state (the
    // file is shorter), system.
    static Result<Mapping> map_shared(int fd, std::uint64_t bytes);

    // map_shared() without write access, for a descriptor that may only be read.
    static Result<Mapping> map_shared_read_only(int fd, std::uint64_t bytes);

    // Maps pages of a file at an address of the caller's choice, shared. Children of fork() do not
    // inherit the mapping, and core dumps leave it out.
    //   address, bytes, offset  whole pages
    // Errors: state (the range is in use), as map_shared.
    static Result<Mapping> map_shared_at(std::uintptr_t address,
                                         std::uint64_t bytes,
                                         int fd,
                                         std::uint64_t offset);

    // Maps zeroed private memory, committed at first touch. Errors as map_shared.
    static Result<Mapping> map_anonymous(std::uint64_t bytes);

    // Maps zeroed memory that forked children share, committed at first touch. Errors as map_shared.
    static Result<Mapping> map_shared_anonymous(std::uint64_t bytes);

    Mapping(Mapping&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

    Mapping& operator=(Mapping&& other) noexcept {
        if (this != &other) {
            unmap();
            data_ = std::exchange(other.data_, nullptr);
            bytes_ = std::exchange(other.bytes_, 0);
        }
        return *this;
    }

    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    ~Mapping() { unmap(); }

    // The page-aligned start; nullptr when nothing is mapped.
    [[nodiscard]] char* data() const noexcept { return data_; }

    // The size that was requested; the mapping itself ends at a page boundary.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    void unmap() noexcept;

private:
    Mapping(char* data, std::uint64_t bytes) noexcept : data_(data), bytes_(bytes) {}

    static Result<Mapping> map(int fd, std::uint64_t bytes, int flags, int rights);

    char* data_ = nullptr;
    std::uint64_t bytes_ = 0;
};

// Whether map_shared_at() could map a range now. Errors: as map_shared_at, but for the file.
Status check_free(std::uintptr_t address, std::uint64_t bytes);

// Replaces the pages of a range by zeroed private ones; the former content is lost for this
// process.
//   address, bytes  whole pages, inside a mapping of the caller
// Errors: argument (not whole pages; nothing changed), memory, system (the range may be lost).
Status map_private_over(void* address, std::uint64_t bytes);

// Replaces the pages of a range by those of a file from `offset` on, shared.
//   address, bytes, offset  whole pages
// Errors: as map_private_over.
Status map_shared_over(void* address, std::uint64_t bytes, int fd, std::uint64_t offset);

// The access that memory must allow.
enum class Rights { read, read_write };

// ok when every page of [address, address + bytes) is mapped, readable and, unless only `read` is
// asked for, writable. Does not change memory contents; may make the pages of a small range
// resident. Takes under 1 us for up to 4 pages; for more, a few us and a share for every mapping
// that the range touches, even if it is sparse.
// Errors: argument (0 bytes, wrap-around, or the first bad address with the reason).
Status check_mapped(const void* address, std::uint64_t bytes, Rights rights = Rights::read_write);

// Frees whole pages of a shared mapping of a memory file, in all processes that map the file: they
// read as zero afterwards. false: the kernel refused, and nothing changed.
bool give_back_shared(void* address, std::uint64_t bytes) noexcept;

// Makes memory of such a mapping zero: many whole pages by give_back_shared(), the rest by writing.
void make_zero_shared(char* memory, std::uint64_t bytes) noexcept;

// Excludes whole pages of a mapping from core dumps of this process. Has no effect if the kernel
// refuses.
void leave_out_of_core_dumps(void* address, std::uint64_t bytes) noexcept;

// Makes whole pages of a shared mapping inaccessible for this process, and unlocks them (mlock(2)).
// The content of the pages and other mappings of them do not change. Errors: argument (not whole
// pages), system.
Status close_range(void* address, std::uint64_t bytes);

// Makes pages that close_range() closed readable and writable again. Errors: argument, memory,
// system.
Status open_range(void* address, std::uint64_t bytes);

// The size of a page, a power of two.
[[nodiscard]] std::uint64_t page_bytes() noexcept;

}  // namespace acp::os
