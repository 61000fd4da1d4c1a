// SPDX-License-Identifier: BSD-3-Clause
// <acp/heap.h>: inline if the heap is mapped here, else by data::Allocator.
#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "base/format.hpp"
#include "data/ask.hpp"
#include "gma/commands.hpp"
#include "node/heap_limit.hpp"

#include <acp/access.h>
#include <acp/heap.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using api::run;

// No heap of any limit has more blocks.
constexpr std::size_t blocks_most = node::heap_bytes_max / allocator::alignment_least;

// "acp_malloc(4096 bytes, rank 3) by rank 0 on host"
base::Status named(const std::string& call, base::Status failure) {
    if (failure.is_ok()) return failure;
    return std::move(failure).within(call + gma::by_rank(library().member->rank()));
}

// Of a list of blocks: the list itself has an end in memory.
base::Status check_count(std::size_t count) {
    if (count <= blocks_most) return {};
    return {base::Code::argument, "count is " + std::to_string(count) +
                                      ": no heap has room for more than " +
                                      std::to_string(blocks_most) + " blocks"};
}

std::string block_call(const char* call, acp_ga_t block) {
    return std::string(call) + "(" + base::hex(block) + ")";
}

// The process of a caller's rank argument.
base::Result<std::uint32_t> process_of(int rank) {
    const std::uint32_t procs = library().member->procs();
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs) {
        return base::Status(
            base::Code::argument,
            "rank " + std::to_string(rank) + " is not one of 0 to " + std::to_string(procs - 1));
    }
    return library().gma->space().segment().process_of(static_cast<std::uint32_t>(rank));
}

base::Result<acp_ga_t> allocate(std::uint64_t bytes, std::uint64_t alignment, int rank) {
    auto process = process_of(rank);
    if (!process.is_ok()) return std::move(process).failure();
    if (!std::has_single_bit(alignment) || alignment > allocator::alignment_most) {
        return base::Status(base::Code::argument, "an alignment is a power of two from 1 to " +
                                                      std::to_string(allocator::alignment_most) +
                                                      ", not " + std::to_string(alignment));
    }
    return library().allocator->allocate(process.value(), bytes,
                                         std::max(alignment, allocator::alignment_least));
}

[[gnu::noinline]] acp_ga_t allocate_long(const char* call,
                                         std::uint64_t bytes,
                                         std::uint64_t alignment,
                                         int rank) noexcept {
    return run<Gravity::misuse_ends>(call, ACP_GA_NULL, [&]() -> base::Result<acp_ga_t> {
        if (api::inline_line == nullptr) api::open_inline_path();
        auto block = allocate(bytes, alignment, rank);
        if (block.is_ok()) return block;
        return named(std::string(call) + "(" + base::in_bytes(bytes) + ", rank " +
                         std::to_string(rank) + ")",
                     std::move(block).failure());
    });
}

[[gnu::noinline]] int free_long(acp_ga_t ga) noexcept {
    const bool is_ok = run<Gravity::failure_ends>("acp_free", false, [&]() -> base::Status {
        if (api::inline_line == nullptr) api::open_inline_path();
        if (ga == ACP_GA_NULL) return {};
        return named(block_call("acp_free", ga), library().allocator->free(ga));
    });
    return is_ok ? 0 : -1;
}

// Allocates in the heap of another process of this node, if no slow path is needed; else as
// allocate_long(). The calling thread has a line.
[[gnu::noinline]] acp_ga_t allocate_near(std::uint64_t bytes, int rank) noexcept {
    const api::Library& here = library();
    const node::Segment& segment = here.gma->space().segment();
    if (static_cast<std::uint32_t>(rank) < segment.shape().procs) [[likely]] {
        const std::uint32_t process = segment.process_of(static_cast<std::uint32_t>(rank));
        const acp_ga_t block =
            api::allocator_at_hand->allocate_here(*api::inline_line, process, bytes);
        if (block != ACP_GA_NULL) [[likely]]
            return block;
    }
    return allocate_long("acp_malloc", bytes, allocator::alignment_least, rank);
}

// Frees a block of another process of this node, likewise.
[[gnu::noinline]] int free_near(acp_ga_t ga) noexcept {
    if (api::allocator_at_hand->free_here(*api::inline_line, ga)) [[likely]]
        return 0;
    return free_long(ga);
}

// Copies a block into a new one and frees the old one. If the process is killed, one of the two
// stays.
base::Result<acp_ga_t> move_block(acp_ga_t old, std::uint64_t old_bytes, std::uint64_t bytes) {
    gma::Gma& gma = *library().gma;
    data::Allocator& allocator = *library().allocator;
    const auto process = static_cast<std::uint32_t>(gma.space().layout().process(old));
    auto lent = allocator.borrow(process, bytes);
    if (!lent.is_ok()) return std::move(lent).failure();
    const acp_ga_t block = lent.value().address;
    const gma::Handle copied = data::copy_within(gma, block, old, std::min(old_bytes, bytes));
    auto status = gma.wait_for_one(copied);
    if (status.is_ok()) status = allocator.replace(old, lent.value());
    if (status.is_ok()) return block;
    allocator.give_back(lent.value());
    return status;
}

}  // namespace

extern "C" {

acp_ga_t acp_malloc(size_t size, int rank) {
    // A thread with a line has called the library before, but the library may have been finalized
    // since.
    const memory::HazardLine* const line = api::inline_line;
    data::Allocator* const allocator = api::allocator_at_hand;
    if (line == nullptr || allocator == nullptr) [[unlikely]]
        return allocate_long("acp_malloc", size, allocator::alignment_least, rank);
    const acp_ga_t block = allocator->allocate_own(*line, static_cast<std::uint32_t>(rank), size);
    return block != ACP_GA_NULL ? block : allocate_near(size, rank);
}

acp_ga_t acp_aligned_alloc(size_t alignment, size_t size, int rank) {
    return allocate_long("acp_aligned_alloc", size, alignment, rank);
}

acp_ga_t acp_calloc(size_t count, size_t size, int rank) {
    return run<Gravity::misuse_ends>("acp_calloc", ACP_GA_NULL, [&]() -> base::Result<acp_ga_t> {
        const std::string call = "acp_calloc(" + std::to_string(count) + " of " +
                                 base::in_bytes(size) + ", rank " + std::to_string(rank) + ")";
        if (size != 0 && count > std::numeric_limits<std::size_t>::max() / size) {
            return named(call, {base::Code::argument, "the product is 2^64 or more"});
        }
        auto block = allocate(count * size, allocator::alignment_least, rank);
        if (!block.is_ok()) return named(call, std::move(block).failure());
        auto status = library().allocator->clear(block.value(), count * size);
        if (status.is_ok()) return block;
        (void)library().allocator->free(block.value());
        return named(call, std::move(status));
    });
}

acp_ga_t acp_realloc(acp_ga_t ga, size_t size) {
    return run<Gravity::misuse_ends>("acp_realloc", ACP_GA_NULL, [&]() -> base::Result<acp_ga_t> {
        const auto body = [&]() -> base::Result<acp_ga_t> {
            data::Allocator& allocator = *library().allocator;
            if (ga == ACP_GA_NULL) {
                return allocate(size, allocator::alignment_least,
                                static_cast<int>(library().member->rank()));
            }
            auto usable = allocator.usable_bytes(ga);
            if (!usable.is_ok()) return std::move(usable).failure();
            // A block that would be less than half full moves to a smaller one.
            const std::uint64_t room = usable.value();
            if (size <= room && size >= room / 2) return ga;
            return move_block(ga, room, size);
        };
        auto block = body();
        if (block.is_ok()) return block;
        return named(block_call("acp_realloc", ga) + " to " + base::in_bytes(size),
                     std::move(block).failure());
    });
}

int acp_free(acp_ga_t ga) {
    const memory::HazardLine* const line = api::inline_line;
    data::Allocator* const allocator = api::allocator_at_hand;
    if (line == nullptr || allocator == nullptr) [[unlikely]]
        return free_long(ga);
    return allocator->free_own(*line, ga) ? 0 : free_near(ga);
}

int acp_malloc_many(size_t count, const size_t* sizes, int rank, acp_ga_t* addresses) {
    static_assert(sizeof(size_t) == sizeof(std::uint64_t));
    const bool is_ok = run<Gravity::misuse_ends>("acp_malloc_many", false, [&]() -> base::Status {
        const std::string call = "acp_malloc_many(" + std::to_string(count) + " blocks, rank " +
                                 std::to_string(rank) + ")";
        if (count != 0 && (sizes == nullptr || addresses == nullptr)) {
            return named(call, {base::Code::argument,
                                sizes == nullptr ? "sizes is NULL" : "addresses is NULL"});
        }
        if (auto status = check_count(count); !status.is_ok())
            return named(call, std::move(status));
        if (auto status = api::refuse_shared("sizes", sizes, count * sizeof *sizes);
            !status.is_ok())
            return named(call, std::move(status));
        if (auto status = api::refuse_shared("addresses", addresses, count * sizeof *addresses);
            !status.is_ok())
            return named(call, std::move(status));
        auto process = process_of(rank);
        if (!process.is_ok()) return named(call, std::move(process).failure());
        if (count == 0) return {};
        return named(call, library().allocator->allocate_many(
                               process.value(), std::span(sizes, count), {addresses, count}));
    });
    return is_ok ? 0 : -1;
}

int acp_free_many(size_t count, const acp_ga_t* addresses) {
    const bool is_ok = run<Gravity::failure_ends>("acp_free_many", false, [&]() -> base::Status {
        const std::string call = "acp_free_many(" + std::to_string(count) + " blocks)";
        if (count != 0 && addresses == nullptr) {
            return named(call, {base::Code::argument, "addresses is NULL"});
        }
        if (auto status = check_count(count); !status.is_ok())
            return named(call, std::move(status));
        if (auto status = api::refuse_shared("addresses", addresses, count * sizeof *addresses);
            !status.is_ok())
            return named(call, std::move(status));
        return named(call, library().allocator->free_many({addresses, count}));
    });
    return is_ok ? 0 : -1;
}

size_t acp_usable_size(acp_ga_t ga) {
    return run<Gravity::misuse_ends>(
        "acp_usable_size", ~std::size_t{0}, [&]() -> base::Result<std::size_t> {
            auto usable = library().allocator->usable_bytes(ga);
            if (usable.is_ok()) return usable;
            return named(block_call("acp_usable_size", ga), std::move(usable).failure());
        });
}

int acp_heap_stat(int rank, acp_heap_stat_t* stat) {
    const bool is_ok = run<Gravity::misuse_ends>("acp_heap_stat", false, [&]() -> base::Status {
        const std::string call = "acp_heap_stat(rank " + std::to_string(rank) + ")";
        if (stat == nullptr) return named(call, {base::Code::argument, "stat is NULL"});
        auto process = process_of(rank);
        if (!process.is_ok()) return named(call, std::move(process).failure());
        auto told = library().allocator->usage(process.value());
        if (!told.is_ok()) return named(call, std::move(told).failure());
        const heap::Usage& usage = told.value();
        *stat = {usage.limit_bytes, usage.unit_bytes, usage.block_bytes, usage.blocks,
                 usage.backed_bytes};
        return {};
    });
    return is_ok ? 0 : -1;
}

int acp_heap_check(int rank) {
    const bool is_ok = run<Gravity::misuse_ends>("acp_heap_check", false, [&]() -> base::Status {
        const std::string call = "acp_heap_check(rank " + std::to_string(rank) + ")";
        auto process = process_of(rank);
        if (!process.is_ok()) return named(call, std::move(process).failure());
        return named(call, library().allocator->check(process.value()));
    });
    return is_ok ? 0 : -1;
}
}
