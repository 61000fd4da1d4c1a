// SPDX-License-Identifier: BSD-3-Clause
// Memory of devices as global addresses: copies between host and device memory of all ranks leave
// what a model says, atomics of all ranks on a word of a device are one after the other, and every
// misuse is refused by a sentence. Each rank has two devices (ACP_DEVICES=far:32M,far:1M).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <acp/device.h>

#include "support/heap_ranks.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

constexpr std::size_t block_bytes = 600'000;
constexpr int big = 1;    // the device of 32 MiB
constexpr int small = 2;  // and of 1 MiB

class DeviceTest : public HeapRankedTest {
protected:
    static acp_ga_t allocated(std::size_t bytes, int rank, int device) {
        const acp_ga_t block = acp_malloc_device(bytes, rank, device);
        EXPECT_NE(block, ACP_GA_NULL) << acp_error_message();
        return block;
    }

    static void free_block(acp_ga_t block) {
        EXPECT_EQ(acp_free_device(block), 0) << acp_error_message();
    }

    static std::uint64_t word_at(acp_ga_t address) {
        std::uint64_t word = 0;
        expect_done(acp_get(&word, address, sizeof word, ACP_HANDLE_NULL));
        return word;
    }

    static void set_word(acp_ga_t address, std::uint64_t word) {
        expect_done(acp_put(address, &word, sizeof word, ACP_HANDLE_NULL));
    }

    [[nodiscard]] int next() const { return (rank_ + 1) % procs_; }
};

TEST_F(DeviceTest, each_rank_says_what_its_devices_are) {
    ASSERT_EQ(acp_devices(), 3);
    acp_device_info_t info{};
    ASSERT_EQ(acp_query_device(0, &info), 0) << acp_error_message();
    EXPECT_EQ(info.kind, ACP_DEVICE_PROC);
    EXPECT_STREQ(info.name, "proc");
    EXPECT_EQ(info.can_copy, 1);
    EXPECT_EQ(info.can_call, 1);
    EXPECT_GT(info.bytes, 0U);
    EXPECT_STREQ(info.why_not, "");
    ASSERT_EQ(acp_query_device(big, &info), 0) << acp_error_message();
    EXPECT_EQ(info.kind, ACP_DEVICE_FAR);
    EXPECT_STREQ(info.name, "far:32M");
    EXPECT_EQ(info.bytes, 32U << 20U);
    EXPECT_EQ(info.can_copy, 1);
    EXPECT_EQ(info.can_call, 0);
    EXPECT_STRNE(info.why_not, "");
    for (const int device : {-1, 3}) {
        EXPECT_EQ(acp_query_device(device, &info), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_query_device", "devices 0 to 2"});
    }
    EXPECT_EQ(acp_query_device(0, nullptr), -1);
    expect_error(ACP_ERR_ARGUMENT, {"info is NULL"});
}

// Blocks of one rank on all ranks, in heaps and on devices, with a model of their content.
class Blocks {
public:
    explicit Blocks(int procs) {
        for (int rank = 0; rank < procs; ++rank) {
            for (const bool is_device : {false, true, true}) {
                add(is_device ? acp_malloc_device(block_bytes, rank, big)
                              : acp_malloc(block_bytes, rank),
                    is_device);
            }
        }
    }

    // A copy between any two blocks, or within one of a device, where the ranges may overlap.
    acp_handle_t copy_some(Random& random, acp_handle_t order) {
        Block& target = blocks_[random.below(blocks_.size())];
        const Block& source = blocks_[random.below(blocks_.size())];
        if (&target == &source && !target.is_device) return order;
        const std::size_t most = std::size_t{1} << random.below(20);
        const std::size_t bytes = 1 + random.below(std::min(most, block_bytes));
        const std::size_t to = random.below(block_bytes - bytes + 1);
        const std::size_t from = random.below(block_bytes - bytes + 1);
        std::memmove(target.model.data() + to, source.model.data() + from, bytes);
        return acp_copy(target.address + to, source.address + from, bytes, order);
    }

    // Bytes of the program into a block.
    acp_handle_t put_some(Random& random, std::vector<char>& bytes, acp_handle_t order) {
        Block& target = blocks_[random.below(blocks_.size())];
        for (char& byte : bytes) byte = static_cast<char>(random.next());
        const std::size_t to = random.below(block_bytes - bytes.size() + 1);
        std::copy(bytes.begin(), bytes.end(),
                  target.model.begin() + static_cast<std::ptrdiff_t>(to));
        return acp_put(target.address + to, bytes.data(), bytes.size(), order);
    }

    void expect_model() const {
        std::vector<char> read(block_bytes);
        for (const Block& block : blocks_) {
            expect_done(acp_get(read.data(), block.address, block_bytes, ACP_HANDLE_NULL));
            const auto differ = std::mismatch(read.begin(), read.end(), block.model.begin());
            EXPECT_EQ(differ.first - read.begin(), static_cast<std::ptrdiff_t>(block_bytes))
                << (block.is_device ? "a device" : "a heap") << " of rank "
                << acp_query_rank(block.address);
        }
    }

    void free_all() const {
        for (const Block& block : blocks_) {
            const int result =
                block.is_device ? acp_free_device(block.address) : acp_free(block.address);
            EXPECT_EQ(result, 0) << acp_error_message();
        }
    }

private:
    struct Block {
        acp_ga_t address;
        std::vector<char> model;
        bool is_device;
    };

    void add(acp_ga_t address, bool is_device) {
        ASSERT_NE(address, ACP_GA_NULL) << acp_error_message();
        blocks_.push_back({address, std::vector<char>(block_bytes, 'i'), is_device});
        expect_done(acp_put(address, blocks_.back().model.data(), block_bytes, ACP_HANDLE_NULL));
    }

    std::vector<Block> blocks_;
};

TEST_F(DeviceTest, random_copies_among_all_memories_leave_what_a_model_says) {
    Random random(static_cast<std::uint64_t>(rank_) + 31);
    Blocks blocks(procs_);
    sync_ranks();
    for (int round = 0; round < 4; ++round) {
        acp_handle_t last = ACP_HANDLE_NULL;
        std::vector<std::vector<char>> sources;
        for (int i = 0; i < 40; ++i) {
            if (random.chance(20)) {
                sources.emplace_back(1 + random.below(100'000));
                last = blocks.put_some(random, sources.back(), last);
            } else {
                last = blocks.copy_some(random, last);
            }
        }
        expect_done(last);
        blocks.expect_model();
    }
    blocks.free_all();
}

TEST_F(DeviceTest, atomics_of_all_ranks_on_a_word_are_one_after_the_other) {
    constexpr std::uint64_t additions = 60;
    const std::vector<std::uint64_t> words =
        exchange(rank_ == 0 ? allocated(64, procs_ - 1, big) : 0);
    const acp_ga_t word = words[0];
    if (rank_ == 0) set_word(word, 0);
    sync_ranks();
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < additions; ++i) {
        const std::uint64_t old = acp_fetch_add8(word, 1);
        EXPECT_TRUE(i == 0 || old > last) << "an addition was lost";
        last = old;
    }
    sync_ranks();
    EXPECT_EQ(word_at(word), additions * static_cast<std::uint64_t>(procs_));
    sync_ranks();
    for (std::uint64_t i = 0; i < additions;) {  // adds by compare and swap
        const std::uint64_t seen = word_at(word);
        if (acp_fetch_cas8(word, seen, seen + 1) == seen) ++i;
    }
    sync_ranks();
    EXPECT_EQ(word_at(word), 2 * additions * static_cast<std::uint64_t>(procs_));
    sync_ranks();
    if (rank_ == 0) free_block(word);
}

TEST_F(DeviceTest, every_atomic_gives_its_old_value_to_memory_of_every_kind) {
    const acp_ga_t word = allocated(64, next(), big);
    const acp_ga_t host = acp_malloc(64, rank_);
    for (const acp_ga_t old : {host, allocated(64, rank_, small), allocated(64, next(), small)}) {
        set_word(word, 0x0f);
        expect_done(acp_swap8(old, word, 0xf0, ACP_HANDLE_NULL));
        EXPECT_EQ(word_at(old), 0x0fU);
        expect_done(acp_or8(old, word, 0x0f, ACP_HANDLE_NULL));
        EXPECT_EQ(word_at(old), 0xf0U);
        expect_done(acp_and8(old, word, 0x3c, ACP_HANDLE_NULL));
        EXPECT_EQ(word_at(old), 0xffU);
        expect_done(acp_xor8(old, word, 0x01, ACP_HANDLE_NULL));
        EXPECT_EQ(word_at(old), 0x3cU);
        expect_done(acp_cas8(old, word, 0x3d, 5, ACP_HANDLE_NULL));
        EXPECT_EQ(word_at(old), 0x3dU);
        expect_done(acp_add4(old, word + 4, 7, ACP_HANDLE_NULL));
        EXPECT_EQ(word_at(word), 5U + (std::uint64_t{7} << 32U));
        // and from a word of a heap to the device
        set_word(host, 11);
        expect_done(acp_add8(old, host, 1, ACP_HANDLE_NULL));
        if (old != host) {
            EXPECT_EQ(word_at(old), 11U);
            free_block(old);
        }
    }
    expect_failure(acp_add8(host, word + 4, 1, ACP_HANDLE_NULL), ACP_ERR_ALIGNMENT);
    free_block(word);
    acp_free(host);
}

TEST_F(DeviceTest, commands_keep_the_order_of_their_handles) {
    const acp_ga_t block = allocated(block_bytes, next(), big);
    const acp_ga_t word = allocated(8, rank_, small);
    set_word(word, 0);
    const std::vector<char> first(block_bytes, '1');
    const std::vector<char> second(block_bytes, '2');
    std::vector<char> read(block_bytes);
    acp_handle_t last = acp_put(block, first.data(), block_bytes, ACP_HANDLE_NULL);
    last = acp_put(block, second.data(), block_bytes, last);
    last = acp_add8(ACP_GA_NULL, word, 1, last);
    last = acp_get(read.data(), block, block_bytes, last);
    expect_done(last);
    EXPECT_EQ(read, second);
    EXPECT_EQ(word_at(word), 1U);
    free_block(block);
    free_block(word);
}

TEST_F(DeviceTest, a_block_may_be_freed_while_copies_use_it) {
    const std::vector<char> bytes(block_bytes, 'b');
    for (int round = 0; round < 10; ++round) {
        const acp_ga_t block = allocated(block_bytes, next(), big);
        std::vector<acp_handle_t> copies;
        for (int i = 0; i < 4; ++i) {
            copies.push_back(acp_put(block, bytes.data(), block_bytes, ACP_HANDLE_NULL));
        }
        free_block(block);
        for (const acp_handle_t copy : copies) {
            const int result = acp_wait(copy, -1);
            EXPECT_TRUE(result == ACP_OK || result == ACP_ERR_STALE) << acp_error_message();
        }
        expect_failure(acp_put(block, bytes.data(), 1, ACP_HANDLE_NULL), ACP_ERR_STALE);
    }
}

TEST_F(DeviceTest, memory_that_is_short_or_not_there_is_refused_by_a_sentence) {
    const int owner = next();
    EXPECT_EQ(acp_malloc_device(2 << 20, owner, small), ACP_GA_NULL);
    expect_error(ACP_ERR_MEMORY, {"acp_malloc_device", "device 2 of rank", "2097152 bytes"});
    for (const int device : {3, 7, 1000, -1}) {
        EXPECT_EQ(acp_malloc_device(8, owner, device), ACP_GA_NULL);
        expect_error(ACP_ERR_ARGUMENT, {"acp_malloc_device", "does not exist"});
    }
    for (const int rank : {-1, procs_}) {
        EXPECT_EQ(acp_malloc_device(8, rank, big), ACP_GA_NULL);
        expect_error(ACP_ERR_ARGUMENT, {"acp_malloc_device", "is not one of"});
    }
    const acp_ga_t block = allocated(1000, owner, big);
    EXPECT_EQ(acp_query_rank(block), owner);
    EXPECT_EQ(acp_query_address(block), nullptr);
    char byte = 0;
    expect_failure(acp_get(&byte, block + 1000, 1, ACP_HANDLE_NULL), ACP_ERR_ADDRESS);
    expect_failure(acp_put(block + 999, "ab", 2, ACP_HANDLE_NULL), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_free_device(block + 256), -1);
    EXPECT_NE(acp_errno(), ACP_OK);
    free_block(block);
    EXPECT_EQ(acp_free_device(block), -1);
    expect_error(ACP_ERR_STALE, {"acp_free_device", "freed before"});
    EXPECT_EQ(acp_free_device(0x123), -1);
    EXPECT_NE(acp_errno(), ACP_OK);
    EXPECT_EQ(acp_free_device(ACP_GA_NULL), 0);
    const acp_ga_t own = allocated(1000, rank_, big);
    EXPECT_EQ(acp_unregister_memory(own), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_unregister_memory", "acp_free_device"});
    free_block(own);
}

TEST_F(DeviceTest, a_registration_is_no_block_of_a_device) {
    char memory[64] = {};
    const acp_atkey_t key = acp_register_memory(memory, sizeof memory, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    EXPECT_EQ(acp_free_device(acp_query_ga(key, memory)), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_free_device", "no block"});
    expect_done(acp_put(acp_query_ga(key, memory), "x", 1, ACP_HANDLE_NULL));
    EXPECT_EQ(memory[0], 'x');
    EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
}

TEST_F(DeviceTest, device_0_is_the_heap) {
    const acp_ga_t block = allocated(100, next(), 0);
    set_word(block, 4);
    EXPECT_EQ(word_at(block), 4U);
    free_block(block);
    sync_ranks();
}

TEST_F(DeviceTest, blocks_that_come_and_go_leave_room) {
    for (int i = 0; i < 300; ++i) {
        const acp_ga_t block = allocated(900'000, next(), small);
        set_word(block + 8, static_cast<std::uint64_t>(i));
        EXPECT_EQ(word_at(block + 8), static_cast<std::uint64_t>(i));
        free_block(block);
    }
}

}  // namespace
}  // namespace acp::test
