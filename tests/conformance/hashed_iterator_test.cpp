// SPDX-License-Identifier: BSD-3-Clause
// Iterators of entries that were erased, and whose memory and key a later entry has; and what an
// iterator that an insertion returns says of its entry.
#include <cstdint>
#include <string>

#include <acp.h>

#include "conformance/hashed_fixture.hpp"

namespace acp::test {
namespace {

// The calls of one kind of container.
struct MapCalls {
    using Handle = acp_map_t;
    using Iterator = acp_map_it_t;
    static constexpr auto make = acp_create_map;
    static constexpr auto destroy = acp_destroy_map;
    static constexpr auto erase = acp_erase_map;

    static Iterator insert(Handle map, const std::string& key) {
        return acp_insert_map(map, key.data(), key.size(), "value", 5);
    }
};

struct MultimapCalls {
    using Handle = acp_multimap_t;
    using Iterator = acp_multimap_it_t;
    static constexpr auto make = acp_create_multimap;
    static constexpr auto destroy = acp_destroy_multimap;
    static constexpr auto erase = acp_erase_multimap;

    static Iterator insert(Handle map, const std::string& key) {
        return acp_insert_multimap(map, key.data(), key.size(), "value", 5);
    }
};

struct SetCalls {
    using Handle = acp_set_t;
    using Iterator = acp_set_it_t;
    static constexpr auto make = acp_create_set;
    static constexpr auto destroy = acp_destroy_set;
    static constexpr auto erase = acp_erase_set;

    static Iterator insert(Handle set, const std::string& key) {
        return acp_insert_set(set, key.data(), key.size());
    }
};

struct MultisetCalls {
    using Handle = acp_multiset_t;
    using Iterator = acp_multiset_it_t;
    static constexpr auto make = acp_create_multiset;
    static constexpr auto destroy = acp_destroy_multiset;
    static constexpr auto erase = acp_erase_multiset;

    static Iterator insert(Handle set, const std::string& key) {
        return acp_insert_multiset(set, key.data(), key.size());
    }
};

template <typename Calls>
class HashedIteratorTest : public HashedTest {};

using AllCalls = ::testing::Types<MapCalls, MultimapCalls, SetCalls, MultisetCalls>;
TYPED_TEST_SUITE(HashedIteratorTest, AllCalls);

// The entries lie on the last rank. Each rank erases and inserts its own key until an entry gets the
// memory of the first one.
TYPED_TEST(HashedIteratorTest, an_iterator_of_an_erased_entry_is_stale_when_its_memory_is_reused) {
    using Calls = TypeParam;
    const int owner = this->procs_ - 1;
    this->template with_shared<typename Calls::Handle>(
        [&] { return Calls::make(1, &owner, 2, owner); }, Calls::destroy,
        [&](typename Calls::Handle handle) {
            const std::string key = this->own_key(1);
            const auto old = Calls::insert(handle, key);
            ASSERT_NE(Calls::erase(old).rank, -1) << acp_error_message();
            bool is_reused = false;
            for (int i = 0; i < 5000 && !is_reused; ++i) {
                const auto later = Calls::insert(handle, key);
                ASSERT_NE(later.elem, ACP_GA_NULL) << acp_error_message();
                is_reused = later.elem == old.elem;
                if (is_reused) {
                    EXPECT_EQ(Calls::erase(old).rank, -1) << "it erased the later entry";
                    this->expect_refused(ACP_ERR_STALE, {"was erased before"});
                }
                ASSERT_NE(Calls::erase(later).rank, -1) << acp_error_message();
            }
            EXPECT_TRUE(is_reused || this->procs_ > 1) << "no entry got the memory of the first";
        });
}

// Ranks take entries by finding, reading and erasing them, and insert others of the same keys.
TEST_F(HashedTest, ranks_take_each_entry_of_a_multimap_once) {
    with_map(4, [&](acp_map_t taken) {
        with_shared<acp_multimap_t>(
            [&] { return acp_create_multimap(0, nullptr, 2, 0); }, acp_destroy_multimap,
            [&](acp_multimap_t queue) {
                const auto take = [&] {
                    const std::uint32_t which = 7;
                    const acp_multimap_ib_t found = acp_find_multimap(queue, &which, sizeof which);
                    if (found.success != 1) return false;
                    std::uint64_t id = 0;
                    std::size_t bytes = sizeof id;
                    if (acp_read_multimap_it(found.it, &id, &bytes) != 1) return true;
                    EXPECT_EQ(bytes, sizeof id);
                    if (acp_erase_multimap(found.it).rank == -1) {
                        expect_refused(ACP_ERR_STALE, {"was erased before"});
                    } else {
                        EXPECT_EQ(acp_insert_if_absent_map(taken, &id, sizeof id, "", 0), 1)
                            << "entry " << id << " was taken twice";
                    }
                    return true;
                };
                constexpr std::uint64_t count = 500;
                for (std::uint64_t i = 0; i < count; ++i) {
                    const std::uint32_t which = 7;
                    const std::uint64_t id = i * 1000 + static_cast<std::uint64_t>(rank_);
                    ASSERT_NE(acp_insert_multimap(queue, &which, sizeof which, &id, sizeof id).elem,
                              ACP_GA_NULL)
                        << acp_error_message();
                    (void)take();
                }
                sync_ranks();
                while (take()) {
                }
                sync_ranks();
                EXPECT_EQ(acp_size_multimap(queue), 0U);
                EXPECT_EQ(acp_size_map(taken), count * static_cast<std::uint64_t>(procs_));
            });
    });
}

TEST_F(HashedTest, an_insertion_of_a_present_key_returns_the_iterator_that_a_find_returns) {
    for (int owner = 0; owner < procs_; ++owner) {
        with_map_of_rank(owner, [&](acp_map_t map) {
            const std::string key = own_key(1);
            for (const std::size_t there : {std::size_t{8}, std::size_t{20}, std::size_t{5000}}) {
                const std::string value(there, 'v');
                ASSERT_EQ(insert(map, key, value), 1) << acp_error_message();
                for (const std::size_t other : {std::size_t{0}, std::size_t{3}, std::size_t{8},
                                                std::size_t{900}, std::size_t{9000}}) {
                    const std::string unused(other, 'u');
                    const acp_map_it_t it =
                        acp_insert_map(map, key.data(), key.size(), unused.data(), other);
                    ASSERT_NE(it.elem, ACP_GA_NULL) << acp_error_message();
                    EXPECT_EQ(it.value_size, there) << "the call had " << other << " bytes";
                    const acp_map_ib_t found = acp_find_map(map, key.data(), key.size());
                    EXPECT_EQ(found.it.elem, it.elem);
                    EXPECT_EQ(found.it.value_size, it.value_size);
                    EXPECT_EQ(found.it.stamp, it.stamp);
                    const acp_pair_t pair = acp_dereference_map_it(it);
                    EXPECT_EQ(bytes_of(pair.first), key);
                    EXPECT_EQ(bytes_of(pair.second), value);
                }
                EXPECT_EQ(remove(map, key), 1);
            }
        });
    }
}

}  // namespace
}  // namespace acp::test
