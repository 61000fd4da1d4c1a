// SPDX-License-Identifier: BSD-3-Clause
// A table's keys get the hash that was chosen for it, in full. One thread.
#include "hash/hash_function.hpp"

#include <gtest/gtest.h>
#include <string_view>

namespace acp::hash {
namespace {

TEST(HashFunction, is_the_one_that_was_chosen) {
    const auto key = std::as_bytes(std::span(std::string_view("a key")));
    EXPECT_EQ(hash_of(HashFunction::crc64, 7, key), key_hash(key));
    EXPECT_EQ(hash_of(HashFunction::crc64, 8, key), key_hash(key)) << "it has no seed";
    EXPECT_EQ(hash_of(HashFunction::crc64_reflected, 7, key), key_hash_reflected(key));
    EXPECT_NE(hash_of(HashFunction::crc64_reflected, 7, key), key_hash(key));
    EXPECT_EQ(hash_of(HashFunction::xxh3, 7, key), xxh3(key, 7));
    EXPECT_NE(hash_of(HashFunction::xxh3, 8, key), xxh3(key, 7));
    EXPECT_LT(hash_of(HashFunction::crc64, 7, key), std::uint64_t{1} << key_hash_bits);
}

}  // namespace
}  // namespace acp::hash
