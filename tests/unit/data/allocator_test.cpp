// SPDX-License-Identifier: BSD-3-Clause
// The heaps of the ranks of one node through the allocator: blocks of any rank, all or none of many,
// lengths and alignments that none has, addresses that no block has, blocks on loan; and the kind of
// container that a call finds in place of its own.
#include "data/allocator.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "data/ask.hpp"
#include "data/kind_at.hpp"
#include "data/lists.hpp"
#include "data/sequence.hpp"

#include "support/rank_node.hpp"

namespace acp::data {
namespace {

using allocator::BlockOwner;
using base::Code;
using base::Status;

class AllocatorTest : public testing::Test {
protected:
    static constexpr std::uint32_t procs = 3;
    static constexpr std::uint64_t heap_bytes = 1 << 20;

    [[nodiscard]] Allocator& of(std::uint32_t rank) { return *ranks_[rank].allocator; }

    [[nodiscard]] std::uint64_t used(std::uint32_t rank) {
        return of(rank).usage(rank).value().block_bytes;
    }

    GlobalAddress make(std::uint32_t process, std::uint64_t bytes, std::uint64_t alignment = 8) {
        auto made = of(0).allocate(process, bytes, alignment);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.is_ok() ? made.value() : 0;
    }

    acp::test::RankNode ranks_{procs, heap_bytes};
};

TEST_F(AllocatorTest, any_rank_allocates_and_frees_on_any_heap) {
    for (std::uint32_t process = 0; process < procs; ++process) {
        const std::uint64_t before = used(process);
        for (const std::uint64_t bytes : {0U, 1U, 8U, 9U, 4096U, 100'000U}) {
            for (std::uint64_t alignment = 8; alignment <= 4096; alignment *= 2) {
                auto made = of((process + 1) % procs).allocate(process, bytes, alignment);
                ASSERT_TRUE(made.is_ok()) << made.failure().message();
                EXPECT_EQ((made.value() - of(0).start_of(process)) % alignment, 0U);
                EXPECT_EQ(of(0).owner_of(made.value()).value(), process);
                EXPECT_GE(of(2).usable_bytes(made.value()).value(), bytes);
                ASSERT_TRUE(of((process + 2) % procs).free(made.value()).is_ok());
            }
        }
        EXPECT_EQ(used(process), before);
    }
}

TEST_F(AllocatorTest, a_length_that_the_heap_lacks_names_it_and_allocates_nothing) {
    const std::uint64_t before = used(1);
    const std::uint64_t all = ranks_.segment().shape().heap_bytes;
    for (const std::uint64_t bytes : {2 * all, std::uint64_t{1} << 40, std::uint64_t{1} << 62,
                                      ~std::uint64_t{0} - 7, ~std::uint64_t{0}}) {
        auto made = of(0).allocate(1, bytes, 8);
        ASSERT_FALSE(made.is_ok()) << bytes;
        EXPECT_EQ(made.failure().code(), Code::memory);
        EXPECT_NE(std::string(made.failure().message()).find("rank 1"), std::string::npos)
            << made.failure().message();
        auto lent = of(0).borrow(1, bytes);
        ASSERT_FALSE(lent.is_ok()) << bytes;
        EXPECT_EQ(lent.failure().code(), Code::memory);
    }
    EXPECT_EQ(used(1), before);
    ASSERT_TRUE(of(1).check(1).is_ok());
}

TEST_F(AllocatorTest, an_alignment_is_a_power_of_two_that_a_heap_has) {
    for (const std::uint64_t alignment :
         {std::uint64_t{3}, std::uint64_t{12}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        auto made = of(0).allocate(1, 8, alignment);
        ASSERT_FALSE(made.is_ok()) << alignment;
        EXPECT_EQ(made.failure().code(), Code::argument) << made.failure().message();
    }
}

TEST_F(AllocatorTest, an_address_where_no_block_begins_is_not_freed) {
    const GlobalAddress block = make(1, 256);
    const std::uint64_t before = used(1);
    const GlobalAddress start = of(0).start_of(1);
    for (const GlobalAddress address :
         {block + 1, block + 8, block + 255, GlobalAddress{0}, ~GlobalAddress{0},
          start + heap_bytes - 8, start + heap_bytes, start - 8, GlobalAddress{8},
          ranks_[0].gma->space().starter_address(1)}) {
        const Status status = of(2).free(address);
        EXPECT_FALSE(status.is_ok()) << address;
        EXPECT_TRUE(status.code() == Code::address || status.code() == Code::stale)
            << status.message();
        EXPECT_FALSE(of(2).usable_bytes(address).is_ok()) << address;
    }
    EXPECT_EQ(used(1), before);
    ASSERT_TRUE(of(2).free(block).is_ok());
    EXPECT_EQ(of(2).free(block).code(), Code::stale);
    EXPECT_TRUE(of(1).check(1).is_ok());
}

TEST_F(AllocatorTest, a_block_of_a_container_is_not_the_programs_to_free) {
    auto made = of(0).allocate(1, 64, 8, BlockOwner::separate);
    ASSERT_TRUE(made.is_ok());
    EXPECT_EQ(of(0).free(made.value()).code(), Code::address);
    EXPECT_TRUE(of(0).free(made.value(), BlockOwner::separate).is_ok());
}

TEST_F(AllocatorTest, many_blocks_are_allocated_all_or_none) {
    const std::uint64_t before = used(1);
    std::vector<std::uint64_t> sizes(1000);  // several messages' worth
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i % 50;
    std::vector<GlobalAddress> addresses(sizes.size());
    ASSERT_TRUE(of(0).allocate_many(1, sizes, addresses).is_ok());
    std::vector<GlobalAddress> sorted = addresses;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (std::size_t i = 0; i < sizes.size(); ++i)
        ASSERT_GE(of(2).usable_bytes(addresses[i]).value(), sizes[i]);
    std::vector<GlobalAddress> freed = addresses;
    freed.insert(freed.begin() + 7, 0);
    ASSERT_TRUE(of(2).free_many(freed).is_ok());
    EXPECT_EQ(used(1), before);
    EXPECT_EQ(of(2).free_many(freed).code(), Code::stale);
    // The last one has no room.
    sizes.back() = heap_bytes;
    auto status = of(0).allocate_many(1, sizes, addresses);
    EXPECT_EQ(status.code(), Code::memory) << status.message();
    EXPECT_EQ(addresses, std::vector<GlobalAddress>(sizes.size(), 0));
    EXPECT_EQ(used(1), before) << "blocks of a call that failed stay";
    EXPECT_TRUE(of(0).allocate_many(1, {}, {}).is_ok());
    EXPECT_TRUE(of(0).free_many({}).is_ok());
}

TEST_F(AllocatorTest, freeing_many_frees_all_that_it_can) {
    const GlobalAddress first = make(0, 8), second = make(1, 8), third = make(2, 8);
    ASSERT_TRUE(of(0).free(second).is_ok());
    const std::vector<GlobalAddress> all{first, second, 0, third, 1};
    const Status status = of(1).free_many(all);
    EXPECT_EQ(status.code(), Code::stale) << status.message();
    EXPECT_EQ(of(1).free(first).code(), Code::stale);
    EXPECT_EQ(of(1).free(third).code(), Code::stale);
}

TEST_F(AllocatorTest, a_block_on_loan_is_given_back_once_or_replaces_another) {
    const std::uint64_t before = used(1);
    auto lent = of(0).borrow(1, 100);
    ASSERT_TRUE(lent.is_ok()) << lent.failure().message();
    EXPECT_GT(used(1), before);
    of(0).give_back(lent.value());
    of(0).give_back(lent.value());
    EXPECT_EQ(used(1), before);
    const GlobalAddress old = make(1, 32);
    auto next = of(0).borrow(1, 64);
    ASSERT_TRUE(next.is_ok());
    ASSERT_TRUE(of(0).replace(old, next.value()).is_ok());
    EXPECT_EQ(of(0).free(old).code(), Code::stale);
    EXPECT_GE(of(0).usable_bytes(next.value().address).value(), 64U);
    EXPECT_TRUE(of(0).free(next.value().address).is_ok());
    EXPECT_EQ(used(1), before);
    // An old block that is none leaves the loan.
    auto third = of(0).borrow(1, 64);
    ASSERT_TRUE(third.is_ok());
    EXPECT_EQ(of(0).replace(old, third.value()).code(), Code::stale);
    of(0).give_back(third.value());
    EXPECT_EQ(used(1), before);
}

TEST_F(AllocatorTest, clearing_makes_zeros_up_to_the_last_byte) {
    const GlobalAddress block = make(1, 64);
    std::string text(64, 'x');
    ASSERT_TRUE(put(*ranks_[0].gma, block, text.data(), 64).is_ok());
    ASSERT_TRUE(of(0).clear(block, 0).is_ok());
    ASSERT_TRUE(of(0).clear(block, 33).is_ok());
    ASSERT_TRUE(get(*ranks_[2].gma, text.data(), block, 64).is_ok());
    EXPECT_EQ(text, std::string(33, '\0') + std::string(31, 'x'));
    EXPECT_FALSE(of(0).clear(of(0).start_of(1) + heap_bytes - 8, 16).is_ok());
    EXPECT_FALSE(of(0).clear(0, 16).is_ok());
}

class KindAtTest : public AllocatorTest {
protected:
    [[nodiscard]] Status refuse(GlobalAddress address, const char* kind) {
        return refuse_other_kind(*ranks_[0].gma, of(0), address, kind);
    }
};

TEST_F(KindAtTest, each_kind_is_known_by_its_name) {
    Lists lists(*ranks_[1].gma, of(1));
    Sequences sequences(*ranks_[1].gma, of(1));
    std::vector<std::pair<std::string, GlobalAddress>> all;
    all.emplace_back("list", lists.make(1).value());
    all.emplace_back("vector", sequences.make(1, sequence::SequenceKind::vector, 0, 0).value());
    all.emplace_back("deque", sequences.make(1, sequence::SequenceKind::deque, 0, 0).value());
    for (const auto& [name, kind] :
         {std::pair{"map", ContainerKind::map}, std::pair{"multimap", ContainerKind::multimap},
          std::pair{"set", ContainerKind::set}, std::pair{"multiset", ContainerKind::multiset}}) {
        HashedOptions options;
        options.kind = kind;
        options.processes = {1};
        options.directory_process = 1;
        auto made = ranks_[1].hashed->create(options);
        ASSERT_TRUE(made.is_ok()) << made.failure().message();
        all.emplace_back(name, made.value().directory);
    }
    for (const auto& [there, address] : all) {
        for (const auto& [wanted, other] : all) {
            const Status status = refuse(address, wanted.c_str());
            if (there == wanted) {
                EXPECT_TRUE(status.is_ok()) << status.message();
                continue;
            }
            EXPECT_EQ(status.code(), Code::argument);
            EXPECT_NE(std::string(status.message())
                          .find("is a " + there + "; this call takes a " + wanted),
                      std::string::npos)
                << status.message();
        }
    }
    ASSERT_TRUE(lists.destroy(all[0].second).is_ok());
    EXPECT_TRUE(refuse(all[0].second, "deque").is_ok()) << "a destroyed list is none";
}

TEST_F(KindAtTest, an_address_of_no_container_is_of_no_kind) {
    const GlobalAddress block = make(1, 4096);
    const std::string noise(4096, '\x5a');
    ASSERT_TRUE(put(*ranks_[0].gma, block, noise.data(), noise.size()).is_ok());
    const GlobalAddress start = of(0).start_of(1);
    for (const GlobalAddress address :
         {block, block + 1, block + 8, start, start + heap_bytes, start + heap_bytes - 8, start - 8,
          GlobalAddress{0}, GlobalAddress{1}, ~GlobalAddress{0}})
        EXPECT_TRUE(refuse(address, "list").is_ok()) << address;
}

}  // namespace
}  // namespace acp::data
