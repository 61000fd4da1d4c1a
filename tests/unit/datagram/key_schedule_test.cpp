// SPDX-License-Identifier: BSD-3-Clause
// Keys: both sides derive the same keys, any other inputs give different ones, and epochs follow
// each other.
#include "datagram/key_schedule.hpp"

#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "support/test_cipher.hpp"

namespace acp::datagram {
namespace {

Parties some_parties() {
    Parties parties;
    parties.job = 5;
    parties.initiator = 1;
    parties.responder = 2;
    parties.initiator_nonce[0] = std::byte{3};
    parties.responder_nonce[15] = std::byte{4};
    return parties;
}

Secret secret_of(const Secret& traffic, Bytes shared, const Parties& parties, CipherSuite& suite) {
    Secret secret;
    derive_connection_secret(traffic, shared, parties, suite, secret);
    return secret;
}

bool opens(DirectionKey& sealing, DirectionKey& opening) {
    const std::array<std::byte, 5> plain{std::byte{1}, std::byte{2}};
    std::array<std::byte, 5 + tag_bytes> sealed{};
    sealing.aead->seal(sealing.nonce(9), {}, plain, sealed);
    return opening.aead->open(opening.nonce(9), {}, sealed);
}

// WIRE-34
TEST(KeySchedule, the_two_secrets_of_a_job_differ_and_depend_on_key_and_job) {
    test::TestSuite suite;
    std::set<Secret> seen;
    for (const std::uint64_t job : {1U, 2U}) {
        for (const int first : {1, 2}) {
            const std::array<std::byte, 32> key{static_cast<std::byte>(first)};
            const JobSecrets secrets(key, job, suite);
            seen.insert(secrets.handshake);
            seen.insert(secrets.traffic);
        }
    }
    EXPECT_EQ(seen.size(), 8U);
}

// WIRE-35
TEST(KeySchedule, a_connection_secret_depends_on_every_field) {
    test::TestSuite suite;
    const Secret traffic{std::byte{1}};
    const Secret shared{std::byte{9}};
    std::vector<Parties> all(8, some_parties());
    all[1].job = 6;
    all[2].initiator = 7;
    all[3].responder = 7;
    all[4].initiator_nonce[15] = std::byte{1};
    all[5].responder_nonce[0] = std::byte{1};
    all[6].initiator_key[31] = std::byte{1};
    all[7].responder_key[0] = std::byte{1};
    std::set<Secret> seen;
    for (const Parties& parties : all) seen.insert(secret_of(traffic, shared, parties, suite));
    seen.insert(secret_of(Secret{}, shared, some_parties(), suite));
    seen.insert(secret_of(traffic, Secret{}, some_parties(), suite));
    seen.insert(secret_of(traffic, {}, some_parties(), suite));
    EXPECT_EQ(seen.size(), 11U);
    EXPECT_EQ(secret_of(traffic, shared, some_parties(), suite),
              secret_of(traffic, shared, some_parties(), suite));
}

// WIRE-36
TEST(KeySchedule, a_key_opens_only_its_own_direction_and_epoch) {
    test::TestSuite suite;
    const Secret secret{std::byte{1}};
    DirectionKey key;
    DirectionKey same;
    DirectionKey other_way;
    DirectionKey later;
    ASSERT_TRUE(make_direction_key(secret, 1, 0, suite, key));
    ASSERT_TRUE(make_direction_key(secret, 1, 0, suite, same));
    ASSERT_TRUE(make_direction_key(secret, 2, 0, suite, other_way));
    ASSERT_TRUE(make_direction_key(secret, 1, 1, suite, later));
    EXPECT_TRUE(opens(key, same));
    EXPECT_FALSE(opens(key, other_way));
    EXPECT_FALSE(opens(key, later));
}

// WIRE-37
TEST(KeySchedule, a_nonce_is_the_salt_and_the_packet_number) {
    DirectionKey key;
    key.salt = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    const Nonce nonce = key.nonce(0x0c0b0a0908070605);
    for (std::uint8_t i = 0; i < 12; ++i) EXPECT_EQ(std::to_integer<int>(nonce[i]), i + 1);
}

// WIRE-38
TEST(ReceiveKeys, know_this_epoch_and_later_ones) {
    test::TestSuite suite;
    const Secret secret{std::byte{1}};
    ReceiveKeys keys;
    ASSERT_TRUE(keys.begin(secret, 1, 5, suite));
    EXPECT_NE(keys.find(0, secret, 5, suite), nullptr);
    EXPECT_NE(keys.find(0, secret, 6, suite), nullptr);
    EXPECT_EQ(keys.find(0, secret, 4, suite), nullptr);
    EXPECT_NE(keys.find(0, secret, 70'000, suite), nullptr);
    EXPECT_EQ(keys.epoch(), 5U) << "only an authentic packet advances it";
}

// WIRE-38
TEST(ReceiveKeys, skip_epochs_that_were_missed) {
    test::TestSuite suite;
    const Secret secret{std::byte{1}};
    ReceiveKeys keys;
    ASSERT_TRUE(keys.begin(secret, 1, 5, suite));
    DirectionKey sealing;
    ASSERT_TRUE(make_direction_key(secret, 1, 9, suite, sealing));
    DirectionKey* const key = keys.find(0, secret, 9, suite);
    ASSERT_NE(key, nullptr);
    EXPECT_TRUE(opens(sealing, *key));
    keys.confirm(0, 9);
    EXPECT_EQ(keys.epoch(), 9U);
    EXPECT_NE(keys.find(0, secret, 5, suite), nullptr) << "the one before is the one it was in";
    EXPECT_EQ(keys.find(0, secret, 8, suite), nullptr);
}

// WIRE-38
TEST(ReceiveKeys, derive_keys_far_ahead_once_in_a_while) {
    test::TestSuite suite;
    const Secret secret{std::byte{1}};
    ReceiveKeys keys;
    ASSERT_TRUE(keys.begin(secret, 1, 0, suite));
    EXPECT_NE(keys.find(0, secret, 100, suite), nullptr);
    EXPECT_EQ(keys.find(ReceiveKeys::skip_every_ns - 1, secret, 200, suite), nullptr);
    EXPECT_NE(keys.find(ReceiveKeys::skip_every_ns - 1, secret, 1, suite), nullptr)
        << "the next one is always to be had";
    EXPECT_NE(keys.find(ReceiveKeys::skip_every_ns, secret, 200, suite), nullptr);
}

// WIRE-39
TEST(ReceiveKeys, keep_the_epoch_before_for_a_while) {
    test::TestSuite suite;
    const Secret secret{std::byte{1}};
    ReceiveKeys keys;
    ASSERT_TRUE(keys.begin(secret, 1, 0, suite));
    ASSERT_NE(keys.find(0, secret, 1, suite), nullptr);
    keys.confirm(1000, 1);
    EXPECT_EQ(keys.epoch(), 1U);
    EXPECT_NE(keys.find(0, secret, 0, suite), nullptr);
    keys.retire(1299, 300);
    EXPECT_TRUE(keys.has_previous());
    keys.retire(1300, 300);
    EXPECT_EQ(keys.find(0, secret, 0, suite), nullptr);
    EXPECT_NE(keys.find(0, secret, 1, suite), nullptr);
}

TEST(ReceiveKeys, report_refused_memory) {
    test::TestSuite suite;
    const Secret secret{};
    ReceiveKeys keys;
    ASSERT_TRUE(keys.begin(secret, 1, 0, suite));
    suite.starve(1);
    EXPECT_EQ(keys.find(0, secret, 1, suite), nullptr);
    EXPECT_NE(keys.find(0, secret, 1, suite), nullptr);
    suite.starve(1);
    EXPECT_FALSE(keys.begin(secret, 1, 0, suite));
}

TEST(KeySchedule, wipe_leaves_nothing) {
    Secret secret;
    secret.fill(std::byte{0xff});
    wipe(secret);
    EXPECT_EQ(secret, Secret{});
}

}  // namespace
}  // namespace acp::datagram
