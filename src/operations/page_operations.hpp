// SPDX-License-Identifier: BSD-3-Clause
// The typed operations (local/typed_operation.hpp) by which a node reaches the shared pages of
// another one: it sends its writes of a page to the page's home, and marks itself at the home as a
// node that fetches pages. Where the job checks its writes (pages/checked_page.hpp), the home notes
// which node sent them, and a node that has fenced pages says so. The pages and their words lie in
// one separate block of a heap, which a
// request names by its address: it writes within that block alone. Applying a difference twice, or
// marking twice, is the same as once, so a caller may repeat a request of a process that died.
// Any thread.
// Tests: tests/unit/operations/page_operations_test.cpp, hostile_requests_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "local/typed_operation.hpp"

#include "allocator/heap_operations.hpp"
#include "pages/difference.hpp"
#include "pages/page.hpp"

namespace acp::operations {

// The code for this processor.
[[nodiscard]] const pages::DifferenceCode& difference_code() noexcept;

// A page of a block that begins with pages.
struct PageToPatch {
    std::uint64_t block = 0;  // address, a multiple of pages::page_bytes
    std::uint64_t page = 0;   // its place in the block, in pages
};

// The most bytes of a difference, or of a part of one (pages::DifferenceParts), in an operation.
inline constexpr std::uint32_t page_patch_bytes_max = local::tail_most<PageToPatch>;

static_assert(page_patch_bytes_max >= pages::DifferenceParts::part_bytes_min);

// The tail is the difference. Codes: argument (the tail is no difference), address (no such page in
// a separate block).
struct ApplyDifference
    : local::
          OperationTypes<allocator::OwnedHeap, PageToPatch, local::Nothing, page_patch_bytes_max> {
    static constexpr local::OperationName name{"dsm.apply", "sending writes to a shared page"};
    static base::Code check(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

// The most pages that one operation marks.
inline constexpr std::uint32_t mark_pages_max = 256;

struct PagesToMark {
    std::uint64_t block = 0;    // address
    std::uint64_t sharers = 0;  // offset of the words of pages::Sharers in it, a multiple of 8
    std::uint64_t pages = 0;    // number of pages of the window
    std::uint64_t first = 0;
    std::uint32_t count = 0;  // 1 .. mark_pages_max
    std::uint32_t node = 0;   // that fetches them
    std::uint32_t nodes = 0;  // number of nodes of the job
    std::uint32_t reserved = 0;
};

struct MarkedPages {
    std::uint64_t last_take = 0;  // as pages::Sharers::mark returns it
};

// Codes: argument (a field is out of its range), address (the words are not in a separate block).
struct MarkSharer : local::OperationTypes<allocator::OwnedHeap, PagesToMark, MarkedPages> {
    static constexpr local::OperationName name{"dsm.mark", "a fetch of shared pages"};
    static base::Code check(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

// Where a block has its pages, behind them as many twins, and the words of pages::WriterMasks.
struct CheckedPages {
    std::uint64_t block = 0;    // address, a multiple of pages::page_bytes
    std::uint64_t pages = 0;    // number of pages of the window
    std::uint64_t masks = 0;    // offset of the words, a multiple of 8
    std::uint64_t entries = 0;  // the size of their pool
    std::uint64_t page = 0;     // the first one of the request
    std::uint32_t home = 0;     // the node of the block
    std::uint32_t node = 0;     // that wrote
};

struct CheckedPatch {
    CheckedPages pages;
    std::uint32_t rank_next = 0;  // pages::PageWriter::rank_next
    std::uint32_t reserved = 0;
};

inline constexpr std::uint32_t checked_patch_bytes_max = local::tail_most<CheckedPatch>;

static_assert(checked_patch_bytes_max >= pages::DifferenceParts::part_bytes_min);

// ApplyDifference for a job that checks its writes. Codes: argument (the tail is no difference; a
// field is out of its range), address (the pages or the words are not in a separate block).
struct ApplyChecked : local::OperationTypes<allocator::OwnedHeap,
                                            CheckedPatch,
                                            local::Nothing,
                                            checked_patch_bytes_max> {
    static constexpr local::OperationName name{"dsm.apply_checked",
                                               "sending checked writes to a shared page"};
    static base::Code check(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

// The most pages of one EndWrites.
inline constexpr std::uint32_t end_pages_max = 64;

struct PagesToEnd {
    CheckedPages pages;
    std::uint32_t count = 0;  // 1 .. end_pages_max
    std::uint32_t reserved = 0;
};

// A node has fenced pages: its writes are ordered before those that other nodes make from now on.
// Codes: argument, address (as above).
struct EndWrites : local::OperationTypes<allocator::OwnedHeap, PagesToEnd, local::Nothing> {
    static constexpr local::OperationName name{"dsm.end_writes", "a fence of shared pages"};
    static base::Code check(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

// A byte of a page that a rank has touched.
struct TouchedByte {
    std::uint32_t page = 0;
    std::uint32_t byte = 0;
};

// The most of them in an operation.
inline constexpr std::uint32_t touches_max = 64;

// A rank has touched the bytes of the tail, TouchedBytes, since the last barrier: CheckedPages::page is
// not used. Codes: argument, address (as above).
struct NoteTouches : local::OperationTypes<allocator::OwnedHeap,
                                           CheckedPatch,
                                           local::Nothing,
                                           touches_max * sizeof(TouchedByte)> {
    static constexpr local::OperationName name{"dsm.note_touches",
                                               "reporting touches of shared pages"};
    static base::Code check(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
    static std::string places_of(const Input& input);
};

inline constexpr const auto& page_operations =
    local::rows_of<ApplyDifference, MarkSharer, ApplyChecked, EndWrites, NoteTouches>;

}  // namespace acp::operations
