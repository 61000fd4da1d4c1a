// SPDX-License-Identifier: BSD-3-Clause
// Setting up the regions of copy.hpp, and the bare loops. Each rank's main thread.
#include <cstring>
#include <system_error>

#include "os/cross_memory.hpp"

#include "copy.hpp"
#include "opaque.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

constexpr std::size_t page = 4096;

char pattern(int rank, std::size_t i) {
    return static_cast<char>((i * 167 + i / 251 + static_cast<std::size_t>(rank) * 61 + 1) & 0xff);
}

std::size_t bytes_that_fit(const Job& job, Regions::Kind kind, std::size_t wanted) {
    const std::size_t whole = (wanted + page - 1) / page * page;
    if (kind == Regions::Kind::registered) return whole;
    return std::min(whole, job.starter_bytes() / 2 / page * page);
}

void must_move(std::int64_t moved, std::size_t bytes) {
    if (moved == static_cast<std::int64_t>(bytes)) return;
    give_up(std::string("the kernel does not copy between processes here: ") +
            (moved < 0 ? std::generic_category().message(static_cast<int>(-moved))
                       : "moved only a part"));
}

}  // namespace

Regions::Regions(Job& job, Kind kind, std::size_t bytes)
    : kind_(kind),
      bytes_(bytes_that_fit(job, kind, bytes)),
      sites_(static_cast<std::size_t>(job.ranks())) {
    RankResult mine{};
    char* start = job.starter(job.rank());
    acp_ga_t ga = job.starter_ga(job.rank());
    if (kind == Kind::registered) {
        base::Result<os::Mapping> mapping = os::Mapping::map_anonymous(2 * bytes_);
        if (!mapping.is_ok()) give_up(std::string(mapping.failure().message()));
        own_ = std::move(mapping).value();
        start = own_.data();
        key_ = acp_register_memory(start, 2 * bytes_, 0);
        if (key_ == ACP_ATKEY_NULL)
            give_up(std::string("cannot register memory: ") + acp_error_message());
        ga = acp_query_ga(key_, start);
    }
    fill(start, job.rank());
    mine.values[0] = ga;
    mine.values[1] = reinterpret_cast<std::uint64_t>(start);
    mine.values[2] = static_cast<std::uint64_t>(own_process_id());
    const std::vector<RankResult> all = job.exchange(mine);
    for (int rank = 0; rank < job.ranks(); ++rank) {
        const RankResult& its = all[static_cast<std::size_t>(rank)];
        char* mapped = kind == Kind::starter ? job.starter(rank)
                       : rank == job.rank()  ? start
                                             : nullptr;
        sites_[static_cast<std::size_t>(rank)] = {its.values[0], mapped, its.values[1],
                                                  static_cast<int>(its.values[2])};
    }
}

Regions::~Regions() {
    if (key_ != ACP_ATKEY_NULL) acp_unregister_memory(key_);
}

void Regions::fill(char* source, int rank) const {
    for (std::size_t i = 0; i < bytes_; ++i) source[i] = pattern(rank, i);
    std::memset(source + bytes_, 0, bytes_);
}

bool Regions::is_pattern(int rank, const char* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        if (data[i] != pattern(rank, i)) return false;
    }
    return true;
}

ACP_OPAQUE void copy_and_complete(acp_ga_t target,
                                  acp_ga_t source,
                                  std::size_t bytes,
                                  std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
        acp_complete(acp_copy(target, source, bytes, ACP_HANDLE_NULL));
}

ACP_OPAQUE void copy_streamed(acp_ga_t target,
                              acp_ga_t source,
                              std::size_t bytes,
                              std::uint64_t count) {
    acp_handle_t last = ACP_HANDLE_NULL;
    for (std::uint64_t i = 0; i < count; ++i)
        last = acp_copy(target, source, bytes, ACP_HANDLE_NULL);
    acp_complete(last);
}

ACP_OPAQUE void copy_deep(acp_ga_t target,
                          acp_ga_t source,
                          std::size_t bytes,
                          std::uint64_t count) {
    acp_handle_t under_way[copies_under_way] = {};
    for (std::uint64_t i = 0; i < count; ++i) {
        acp_handle_t& oldest = under_way[i % copies_under_way];
        if (i >= copies_under_way) acp_complete(oldest);
        oldest = acp_copy(target, source, bytes, ACP_HANDLE_NULL);
    }
    acp_complete(under_way[(count - 1) % copies_under_way]);
}

ACP_OPAQUE void copy_by_memcpy(char* target,
                               const char* source,
                               std::size_t bytes,
                               std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        std::memcpy(target, source, bytes);
        asm volatile("" ::: "memory");
    }
}

void KernelCopy::run(std::size_t bytes, std::uint64_t count) const {
    const bool reads = direction_.source != 0;
    const bool writes = direction_.target != 0;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
    auto* source = reinterpret_cast<char*>(regions_.address(direction_.source));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
    auto* target = reinterpret_cast<char*>(regions_.address(direction_.target)) + regions_.bytes();
    const os::Piece there{source, bytes};
    const os::Piece here{writes ? (reads ? bounce_ : source) : target, bytes};
    const os::Piece yonder{target, bytes};
    for (std::uint64_t i = 0; i < count; ++i) {
        if (reads) {
            must_move(os::read_process(regions_.pid(direction_.source), {&here, 1}, {&there, 1}),
                      bytes);
        }
        if (writes) {
            must_move(os::write_process(regions_.pid(direction_.target), {&here, 1}, {&yonder, 1}),
                      bytes);
        }
    }
}

}  // namespace acp::bench
