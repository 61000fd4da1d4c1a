// SPDX-License-Identifier: BSD-3-Clause
// Arenas: allocation on pages of their own, registration, exchange of addresses.
#include "support/arena.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t page_bytes = 4096;

std::byte* allocate_pages(std::size_t bytes) {
    const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    void* memory = std::aligned_alloc(page_bytes, whole);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    __builtin_memset(memory, 0, whole);
    return static_cast<std::byte*>(memory);
}

}  // namespace

void Arena::Release::operator()(std::byte* memory) const noexcept {
    std::free(memory);
}

Arena::Arena(Kind kind, std::size_t bytes, std::size_t begin) : kind_(kind), bytes_(bytes) {
    acp_ga_t mine = ACP_GA_NULL;
    if (kind == Kind::starter) {
        EXPECT_LE(begin + bytes, starter_room()) << "start the test with more starter memory";
        mine = acp_query_starter_ga(acp_rank()) + begin;
        local_ = static_cast<std::byte*>(acp_query_address(mine));
    } else {
        memory_.reset(allocate_pages(bytes));
        local_ = memory_.get();
        key_ = acp_register_memory(local_, bytes, 0);
        EXPECT_NE(key_, ACP_ATKEY_NULL) << acp_error_message();
        mine = acp_query_ga(key_, local_);
        EXPECT_NE(mine, ACP_GA_NULL) << acp_error_message();
    }
    std::fill_n(local_, bytes, std::byte{0});  // starter memory holds bytes of earlier tests
    addresses_ = exchange(mine);
}

Arena::~Arena() {
    sync_ranks();  // no rank accesses it after this
    if (key_ != ACP_ATKEY_NULL) {
        EXPECT_EQ(acp_unregister_memory(key_), 0) << acp_error_message();
    }
}

std::vector<std::byte> Arena::fetched_from(int rank) const {
    std::vector<std::byte> bytes(bytes_);
    const acp_atkey_t key = acp_register_memory(bytes.data(), bytes.size(), 0);
    EXPECT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    expect_done(acp_copy(acp_query_ga(key, bytes.data()), at(rank), bytes_, ACP_HANDLE_NULL));
    EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
    return bytes;
}

void fill_pattern(std::span<std::byte> bytes, std::uint64_t round, int rank) {
    for (std::size_t offset = 0; offset < bytes.size(); ++offset) {
        bytes[offset] = pattern(round, rank, offset);
    }
}

}  // namespace acp::test
