// SPDX-License-Identifier: BSD-3-Clause
// Keys that an attacker has chosen to have the same CRC-64. In a container made without options, or
// with the default hash, they spread over all ranks like other keys, and differently in each
// container; a container that asks for the CRC places them as the CRC says. Keys, counts and options
// that a call refuses.
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <acp.h>

#include "conformance/hashed_fixture.hpp"

namespace acp::test {
namespace {

constexpr int chosen_keys = 400;

std::uint64_t crc64(const std::string& bytes) {
    std::uint64_t crc = 0;
    for (const char byte : bytes) {
        crc ^= std::uint64_t{static_cast<unsigned char>(byte)} << 56;
        for (int bit = 0; bit < 8; ++bit)
            crc = crc << 1 ^ (crc >> 63 != 0 ? 0x42F0E1EBA9EA3693U : 0);
    }
    return crc;
}

// The CRC of a message with its CRC behind it is 0.
std::string chosen_key(int number) {
    std::string key = "key " + std::to_string(number) + ":";
    const std::uint64_t crc = crc64(key);
    for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(crc >> shift & 0xff);
    return key;
}

std::uint64_t reflected_crc64(const std::string& bytes) {
    std::uint64_t crc = ~std::uint64_t{0};
    for (const char byte : bytes) {
        crc ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xC96C5795D7870F42U : 0);
    }
    return ~crc;
}

class HashedKeysTest : public HashedTest {
protected:
    // The chosen keys of a map made by this rank that lie on this rank.
    std::set<int> own_keys(acp_map_t map) {
        for (int i = 0; i < chosen_keys; ++i) EXPECT_EQ(insert(map, chosen_key(i), "v"), 1);
        EXPECT_EQ(acp_size_map(map), static_cast<std::size_t>(chosen_keys));
        std::set<int> own;
        for (acp_map_it_t it = acp_begin_local_map(map); it.elem != ACP_GA_NULL;
             it = acp_increment_map_it(it)) {
            const std::string key = bytes_of(acp_dereference_map_it(it).first);
            own.insert(std::atoi(key.c_str() + 4));
        }
        return own;
    }

    // Checks on which ranks the entries of the chosen keys lie, for each kind of container.
    template <typename Handle, typename Insert, typename SizeLocal>
    void expect_spread(const Handle& handle, const Insert& insert, const SizeLocal& size_local) {
        if (rank_ == 0) {
            for (int i = 0; i < chosen_keys; ++i) insert(handle, chosen_key(i));
        }
        sync_ranks();
        EXPECT_GT(size_local(handle), static_cast<std::size_t>(chosen_keys / procs_ / 4));
        EXPECT_LT(size_local(handle), static_cast<std::size_t>(chosen_keys / procs_ * 4 + 1));
        sync_ranks();
    }
};

TEST_F(HashedKeysTest, chosen_keys_lie_on_all_ranks_of_a_container_of_any_kind) {
    with_shared<acp_map_t>([&] { return acp_create_map(0, nullptr, 0, 0); }, acp_destroy_map,
                           [&](acp_map_t map) {
                               expect_spread(
                                   map,
                                   [](acp_map_t to, const std::string& key) {
                                       (void)HashedTest::insert(to, key, "v");
                                   },
                                   acp_size_local_map);
                           });
    with_shared<acp_set_t>([&] { return acp_create_set(0, nullptr, 0, 0); }, acp_destroy_set,
                           [&](acp_set_t set) {
                               expect_spread(
                                   set,
                                   [](acp_set_t to, const std::string& key) {
                                       (void)acp_insert_set(to, key.data(), key.size());
                                   },
                                   acp_size_local_set);
                           });
    with_shared<acp_multimap_t>(
        [&] { return acp_create_multimap(0, nullptr, 0, 0); }, acp_destroy_multimap,
        [&](acp_multimap_t map) {
            expect_spread(
                map,
                [](acp_multimap_t to, const std::string& key) {
                    (void)acp_insert_multimap(to, key.data(), key.size(), "v", 1);
                },
                acp_size_local_multimap);
        });
    with_shared<acp_multiset_t>([&] { return acp_create_multiset(0, nullptr, 0, 0); },
                                acp_destroy_multiset,
                                [&](acp_multiset_t set) {
                                    expect_spread(
                                        set,
                                        [](acp_multiset_t to, const std::string& key) {
                                            (void)acp_insert_multiset(to, key.data(), key.size());
                                        },
                                        acp_size_local_multiset);
                                });
}

TEST_F(HashedKeysTest, keys_lie_elsewhere_in_each_container_unless_the_seed_is_given) {
    if (rank_ == 0 && procs_ > 1) {
        acp_hashed_options_t options{};
        std::vector<std::set<int>> found;
        for (const auto& [hash, seed] :
             std::vector<std::pair<acp_hash_t, std::uint64_t>>{{ACP_HASH_DEFAULT, 7},
                                                               {ACP_HASH_DEFAULT, 7},
                                                               {ACP_HASH_XXH3, 7},
                                                               {ACP_HASH_XXH3, 7},
                                                               {ACP_HASH_XXH3, 8},
                                                               {ACP_HASH_CRC64, 0}}) {
            options.hash = hash;
            options.seed = seed;
            const acp_map_t map = acp_create_map_with(&options);
            ASSERT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
            found.push_back(own_keys(map));
            EXPECT_EQ(acp_destroy_map(map), 0);
        }
        EXPECT_NE(found[0], found[1]);
        EXPECT_NE(found[0], found[2]);
        EXPECT_EQ(found[2], found[3]);
        EXPECT_NE(found[2], found[4]);
        EXPECT_EQ(found[5].size(), static_cast<std::size_t>(chosen_keys)) << "they have one CRC";
    }
}

TEST_F(HashedKeysTest, the_crc_of_3_0_gives_its_placement) {
    acp_hashed_options_t options{};
    options.hash = ACP_HASH_CRC64_REFLECTED;
    options.num_slots = 5;
    with_shared<acp_map_t>([&] { return acp_create_map_with(&options); }, acp_destroy_map,
                           [&](acp_map_t map) {
                               if (rank_ == 0) {
                                   for (int i = 0; i < chosen_keys; ++i)
                                       insert(map, own_key(static_cast<std::uint64_t>(i)), "v");
                               }
                               sync_ranks();
                               for (acp_map_it_t it = acp_begin_local_map(map);
                                    it.elem != ACP_GA_NULL; it = acp_increment_map_it(it)) {
                                   const std::string key =
                                       bytes_of(acp_dereference_map_it(it).first);
                                   EXPECT_EQ((reflected_crc64(key) >> 16) / options.num_slots %
                                                 static_cast<std::uint64_t>(procs_),
                                             static_cast<std::uint64_t>(rank_));
                               }
                               EXPECT_EQ(acp_size_map(map), static_cast<std::size_t>(chosen_keys));
                           });
}

TEST_F(HashedKeysTest, a_hash_that_is_none_is_refused) {
    acp_hashed_options_t options{};
    const int none = 4;
    std::memcpy(&options.hash, &none, sizeof options.hash);
    EXPECT_EQ(acp_create_map_with(&options).ga, ACP_GA_NULL);
    expect_refused(ACP_ERR_ARGUMENT, {"ACP_HASH_DEFAULT"});
}

TEST_F(HashedKeysTest, an_iterator_of_a_failed_call_is_refused) {
    acp_map_it_t failed = acp_begin_map(acp_map_t{});
    ASSERT_EQ(failed.rank, -1);
    acp_clear_errno();
    EXPECT_EQ(acp_increment_map_it(failed).rank, -1);
    expect_refused(ACP_ERR_ARGUMENT, {"acp_increment_map_it", "is at no entry"});
}

// The bytes of as many entries are more than an address space has, or overflow to a few.
TEST_F(HashedKeysTest, counts_that_no_array_has_are_refused) {
    acp_entry_t entry{};
    const acp_map_t map = acp_create_map(1, &rank_, 1, rank_);
    const acp_multiset_t set = acp_create_multiset(1, &rank_, 1, rank_);
    for (const std::size_t count :
         {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / sizeof entry + 2, std::size_t{1} << 60}) {
        EXPECT_EQ(acp_find_many_map(map, count, &entry), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_find_many_map", "no array has more than"});
        EXPECT_EQ(acp_insert_many_map(map, count, &entry), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_insert_many_map", std::to_string(count)});
        EXPECT_EQ(acp_add_many_multiset(set, count, &entry), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_add_many_multiset", std::to_string(count)});
    }
    EXPECT_EQ(acp_destroy_map(map), 0);
    EXPECT_EQ(acp_destroy_multiset(set), 0);
}

TEST_F(HashedTest, a_count_below_one_or_above_the_most_is_refused_and_stays) {
    with_shared<acp_multiset_t>(
        [&] { return acp_create_multiset(0, nullptr, 1, 0); }, acp_destroy_multiset,
        [this](acp_multiset_t set) {
            constexpr std::uint64_t most = ~std::uint64_t{0} - 1;
            const std::string none = own_key(0);
            const std::string full = own_key(1);
            const auto add = [set](const std::string& key, std::uint64_t number) {
                return acp_add_multiset(set, key.data(), key.size(), number);
            };
            EXPECT_EQ(add(none, 0), UINT64_MAX);
            expect_refused(ACP_ERR_ARGUMENT,
                           {"acp_add_multiset", "\"" + none + "\": the number to add is 0"});
            EXPECT_EQ(add(none, most + 1), UINT64_MAX);
            expect_refused(ACP_ERR_ARGUMENT, {"acp_add_multiset", "2^64 - 2",
                                              "number to add is " + std::to_string(most + 1)});
            EXPECT_EQ(add(full, most), most);
            EXPECT_EQ(add(full, 1), UINT64_MAX);
            EXPECT_EQ(add(full, 2), UINT64_MAX);
            expect_refused(ACP_ERR_ARGUMENT, {"of count " + std::to_string(most),
                                              "the number to add is 2; it is at least 1"});
            EXPECT_EQ(acp_insert_multiset(set, full.data(), full.size()).elem, ACP_GA_NULL);
            expect_refused(ACP_ERR_ARGUMENT, {"acp_insert_multiset", "2^64",
                                              "\"" + full + "\" of count " + std::to_string(most)});
            std::vector<acp_entry_t> entries{
                {none.data(), none.size(), nullptr, 0, most + 1, 7},
                {full.data(), full.size(), nullptr, 0, 1, 7},
                {none.data(), none.size(), nullptr, 0, 3, 7},
            };
            EXPECT_EQ(acp_add_many_multiset(set, entries.size(), entries.data()), -1);
            expect_refused(ACP_ERR_ARGUMENT,
                           {"acp_add_many_multiset", "entry 0", "2^64", "\"" + none + "\"",
                            "the number to add is " + std::to_string(most + 1)});
            EXPECT_EQ(entries[0].result, -1);
            EXPECT_EQ(entries[1].result, -1);
            EXPECT_EQ(entries[2].result, 1);
            EXPECT_EQ(acp_retrieve_multiset(set, none.data(), none.size()), 3U);
            EXPECT_EQ(acp_retrieve_multiset(set, full.data(), full.size()), most);
            sync_ranks();
            EXPECT_EQ(acp_size_multiset(set), 2 * static_cast<std::size_t>(procs_));
        });
}

// A refused option is named with the value that was given.
TEST_F(HashedTest, refused_options_are_named_with_their_values) {
    if (rank_ == 0) {
        const auto refuse = [this](acp_hashed_options_t options,
                                   const std::vector<std::string>& parts) {
            EXPECT_EQ(acp_create_map_with(&options).ga, ACP_GA_NULL);
            expect_refused(ACP_ERR_ARGUMENT, parts);
        };
        acp_hashed_options_t options{};
        options.num_slots = (std::size_t{1} << 32) + 5;
        refuse(options, {"num_slots is 4294967301", "0 to 2^32"});
        options = {};
        const int no_hash = 7;
        static_assert(sizeof options.hash == sizeof no_hash);
        std::memcpy(&options.hash, &no_hash, sizeof no_hash);  // as a C program may store it
        refuse(options, {"hash is 7", "ACP_HASH_XXH3"});
        options = {};
        options.num_ranks = procs_ + 3;
        refuse(options, {"num_ranks is " + std::to_string(procs_ + 3)});
        options = {};
        options.rank = -4;
        refuse(options, {"rank -4"});
        acp_map_t map = acp_create_map(1, nullptr, 0, 0);
        ASSERT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
        acp_entry_t entry{};
        const std::size_t count = std::size_t{1} << 62;
        EXPECT_EQ(acp_fetch_add_many_map(map, count, &entry), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_fetch_add_many_map", std::to_string(count)});
        const std::size_t long_key = (std::size_t{1} << 32) + 7;  // refused before a byte is read
        EXPECT_EQ(acp_find_map(map, &entry, long_key).success, -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_find_map", "this one has 4294967303 bytes"});
        entry = {&entry, long_key, nullptr, 0, 0, 0};
        EXPECT_EQ(acp_find_many_map(map, 1, &entry), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_find_many_map", "entry 0", "has 4294967303 bytes"});
        std::uint64_t two = 2;
        ASSERT_EQ(acp_insert_or_assign_map(map, "key", 3, &two, sizeof two), 1);
        entry = {"key", 3, &two, sizeof two, 0, 0};
        EXPECT_EQ(acp_replace_map(map, &entry, "no number", 9), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_replace_map", "the new value has 9 bytes"});
        EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
    }
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
