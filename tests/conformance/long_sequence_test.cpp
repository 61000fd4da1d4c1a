// SPDX-License-Identifier: BSD-3-Clause
// Vectors and deques of hundreds of kilobytes, whose content the callers of other nodes copy in
// pieces (data/sequence_pieces.hpp): ranks that grow, change, read and empty one at once lose no
// record, of several assignments at once one remains whole, and a full heap refuses growth and
// still returns the bytes. ACP_TEST_SEED repeats a run.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <acp.h>

#include "support/heap_ranks.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

constexpr std::size_t record_bytes = 2'000;

// A record of one rank: all of its words are the same, so that a torn one is noticed.
std::string record_of(std::uint64_t rank, std::uint64_t number) {
    const std::uint64_t word = rank << 32 | number;
    std::string record(record_bytes, '\0');
    for (std::size_t at = 0; at < record_bytes; at += sizeof word)
        std::memcpy(record.data() + at, &word, sizeof word);
    return record;
}

// The number of records, and a sum that shows which they are.
struct Sum {
    std::uint64_t count = 0;
    std::uint64_t hashes = 0;

    // false: a record is torn.
    [[nodiscard]] bool add(const std::string& records) {
        for (std::size_t at = 0; at < records.size(); at += record_bytes) {
            std::uint64_t word = 0;
            if (records.size() - at < record_bytes) return false;
            std::memcpy(&word, records.data() + at, sizeof word);
            if (records.compare(at, record_bytes, record_of(word >> 32, word & 0xffffffff)) != 0)
                return false;
            const std::uint64_t mixed = (word + 1) * 0x9e3779b97f4a7c15U;
            hashes += mixed ^ mixed >> 29;
            ++count;
        }
        return true;
    }
};

class LongSequenceTest : public HeapRankedTest {
protected:
    void SetUp() override {
        HeapRankedTest::SetUp();
        const char* const given = std::getenv("ACP_TEST_SEED");
        const std::uint64_t own =
            given != nullptr ? std::strtoull(given, nullptr, 0) : fresh_seed();
        seed_ = exchange(own)[0];
        if (rank_ == 0) std::printf("ACP_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    }

    [[nodiscard]] Random random() const {
        return Random(seed_ * 64 + static_cast<std::uint64_t>(rank_));
    }

    static std::string content(acp_vector_t vector) {
        std::string read(acp_size_vector(vector), '\0');
        EXPECT_EQ(acp_read_vector(vector, 0, read.data(), read.size()),
                  static_cast<std::int64_t>(read.size()))
            << acp_error_message();
        return read;
    }

    std::string next_records(std::uint64_t count) {
        std::string records;
        for (std::uint64_t i = 0; i < count; ++i)
            records += record_of(static_cast<std::uint64_t>(rank_), next_++);
        EXPECT_TRUE(added_.add(records));
        return records;
    }

    // Checks that each record that a rank has added was taken, or is among those left.
    void expect_all_there(const std::string& left) {
        Sum there;
        EXPECT_TRUE(there.add(left)) << "a record is torn";
        const auto all = [&](std::uint64_t own) {
            std::uint64_t sum = 0;
            for (const std::uint64_t value : exchange(own)) sum += value;
            return sum;
        };
        EXPECT_EQ(all(added_.count), all(taken_.count) + there.count);
        EXPECT_EQ(all(added_.hashes), all(taken_.hashes) + there.hashes);
        added_ = taken_ = {};
    }

    std::uint64_t seed_ = 0;
    std::uint64_t next_ = 0;
    Sum added_;
    Sum taken_;
};

TEST_F(LongSequenceTest, ranks_that_grow_and_change_one_vector_at_once_lose_no_record) {
    constexpr std::size_t most = 1'500'000;
    for (const int owner : {0, procs_ - 1}) {
        const acp_vector_t mine = rank_ == 0 ? acp_create_vector(0, owner) : acp_vector_t{};
        const acp_vector_t vector{exchange(mine.ga)[0]};
        Random random = this->random();
        for (int step = 0; step < 40 && !HasFailure(); ++step) {
            const std::size_t size = acp_size_vector(vector);
            switch (size > most ? 3 : random.below(5)) {
                case 0: {
                    const std::string more = next_records(random.between(1, 60));
                    EXPECT_EQ(acp_push_back_vector(vector, more.data(), more.size()), 0)
                        << acp_error_message();
                    break;
                }
                case 1: {
                    const std::string more = next_records(random.between(1, 60));
                    const acp_vector_it_t at =
                        acp_insert_vector(acp_begin_vector(vector), more.data(), more.size());
                    EXPECT_EQ(at.vector.ga, vector.ga) << acp_error_message();
                    break;
                }
                case 2:
                    EXPECT_EQ(acp_reserve_vector(vector, size + random.below(400'000)), 0)
                        << acp_error_message();
                    break;
                case 3: {
                    std::string taken(record_bytes * random.between(1, 80), '\0');
                    const std::int64_t bytes =
                        acp_take_back_vector(vector, taken.data(), taken.size());
                    ASSERT_GE(bytes, 0) << acp_error_message();
                    taken.resize(static_cast<std::size_t>(bytes));
                    EXPECT_TRUE(taken_.add(taken)) << "a taken record is torn";
                    break;
                }
                default: {
                    std::string read(size, '\0');
                    const std::int64_t bytes = acp_read_vector(vector, 0, read.data(), read.size());
                    ASSERT_GE(bytes, 0) << acp_error_message();
                    read.resize(static_cast<std::size_t>(bytes));
                    EXPECT_TRUE(Sum().add(read)) << "a read record is torn";
                }
            }
        }
        sync_ranks();
        expect_all_there(content(vector));
        sync_ranks();
        if (rank_ == 0) {
            EXPECT_EQ(acp_destroy_vector(vector), 0);
        }
    }
}

TEST_F(LongSequenceTest, a_deque_gives_each_long_record_to_one_rank) {
    for (const int owner : {0, procs_ - 1}) {
        const acp_deque_t mine = rank_ == 0 ? acp_create_deque(0, owner) : acp_deque_t{};
        const acp_deque_t deque{exchange(mine.ga)[0]};
        Random random = this->random();
        for (int step = 0; step < 30 && !HasFailure(); ++step) {
            const std::string more = next_records(random.between(1, 50));
            EXPECT_EQ(random.chance(50) ? acp_push_front_deque(deque, more.data(), more.size())
                                        : acp_push_back_deque(deque, more.data(), more.size()),
                      0)
                << acp_error_message();
            std::string taken(record_bytes * random.between(1, 70), '\0');
            const std::int64_t bytes = random.chance(50)
                                           ? acp_take_front_deque(deque, taken.data(), taken.size())
                                           : acp_take_back_deque(deque, taken.data(), taken.size());
            ASSERT_GE(bytes, 0) << acp_error_message();
            taken.resize(static_cast<std::size_t>(bytes));
            EXPECT_TRUE(taken_.add(taken)) << "a taken record is torn";
        }
        sync_ranks();
        std::string left(acp_size_deque(deque), '\0');
        EXPECT_EQ(acp_read_deque(deque, 0, left.data(), left.size()),
                  static_cast<std::int64_t>(left.size()));
        expect_all_there(left);
        sync_ranks();
        if (rank_ == 0) {
            EXPECT_EQ(acp_destroy_deque(deque), 0);
        }
    }
}

TEST_F(LongSequenceTest, of_assignments_at_once_one_remains_whole) {
    for (const int owner : {0, procs_ - 1}) {
        const acp_vector_t mine = rank_ == 0 ? acp_create_vector(0, owner) : acp_vector_t{};
        const acp_vector_t vector{exchange(mine.ga)[0]};
        Random random = this->random();
        for (int round = 0; round < 8; ++round) {
            const std::string text(random.between(1, 400'000), static_cast<char>('a' + rank_));
            const acp_vector_t own = acp_create_vector(0, rank_);
            EXPECT_EQ(acp_push_back_vector(own, text.data(), text.size()), 0);
            sync_ranks();
            EXPECT_EQ(acp_assign_vector(vector, own), 0) << acp_error_message();
            const std::vector<std::uint64_t> sizes = exchange(text.size());
            const std::string left = content(vector);
            ASSERT_FALSE(left.empty());
            const auto from = static_cast<std::size_t>(left[0] - 'a');
            ASSERT_LT(from, sizes.size());
            EXPECT_TRUE(left == std::string(sizes[from], left[0]));
            EXPECT_EQ(acp_destroy_vector(own), 0);
            sync_ranks();
        }
        if (rank_ == 0) {
            EXPECT_EQ(acp_destroy_vector(vector), 0);
        }
    }
}

TEST_F(LongSequenceTest, a_full_heap_refuses_growth_and_still_gives_the_bytes_back) {
    if (rank_ == 0) {
        const int owner = procs_ - 1;
        std::string text(300'000, '\0');
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 251);
        const acp_vector_t vector = acp_create_vector(0, owner);
        EXPECT_EQ(acp_push_back_vector(vector, text.data(), text.size()), 0);
        const acp_vector_t other = acp_create_vector(0, 0);
        const std::string more = text + text;
        EXPECT_EQ(acp_push_back_vector(other, more.data(), more.size()), 0);
        std::vector<acp_ga_t> blocks;
        for (std::size_t bytes = std::size_t{1} << 40; bytes != 0; bytes /= 2) {
            for (acp_ga_t block = 0; (block = acp_malloc(bytes, owner)) != ACP_GA_NULL;)
                blocks.push_back(block);
        }
        EXPECT_EQ(acp_reserve_vector(vector, 2 * text.size()), -1);
        expect_error(ACP_ERR_MEMORY, {"acp_reserve_vector", "no room"});
        EXPECT_EQ(acp_push_back_vector(vector, text.data(), text.size()), -1);
        expect_error(ACP_ERR_MEMORY, {"acp_push_back_vector", "no room"});
        EXPECT_EQ(acp_insert_vector(acp_begin_vector(vector), text.data(), text.size()).vector.ga,
                  ACP_GA_NULL);
        expect_error(ACP_ERR_MEMORY, {"acp_insert_vector", "no room"});
        EXPECT_EQ(acp_assign_vector(vector, other), -1);
        expect_error(ACP_ERR_MEMORY, {"acp_assign_vector", "no room"});
        EXPECT_TRUE(content(vector) == text) << "a long read needs no memory of the owner";
        std::string taken(text.size(), '\0');
        EXPECT_EQ(acp_take_back_vector(vector, taken.data(), taken.size()),
                  static_cast<std::int64_t>(text.size()))
            << acp_error_message();
        EXPECT_TRUE(taken == text);
        for (const acp_ga_t block : blocks) acp_free(block);
        EXPECT_EQ(acp_assign_vector(vector, other), 0) << acp_error_message();
        EXPECT_TRUE(content(vector) == more);
        EXPECT_EQ(acp_destroy_vector(vector), 0);
        EXPECT_EQ(acp_destroy_vector(other), 0);
    }
}

}  // namespace
}  // namespace acp::test
