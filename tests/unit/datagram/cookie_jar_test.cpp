// SPDX-License-Identifier: BSD-3-Clause
// Cookies are good for one address, node and nonce, and for ten to twenty seconds.
#include "datagram/cookie_jar.hpp"

#include <gtest/gtest.h>

#include "support/test_cipher.hpp"

namespace acp::datagram {
namespace {

constexpr Time second = 1'000'000'000;

struct Scene {
    test::TestSuite suite;
    test::TestEntropy entropy{1};
    CookieJar jar{suite, entropy};
    Address from = ipv4(10, 0, 0, 1, 99);
    Random16 nonce{std::byte{5}};
};

// WIRE-17
TEST(CookieJar, knows_its_own_cookie_for_the_same_question_only) {
    Scene scene;
    const Random16 cookie = scene.jar.make(second, scene.from, 3, scene.nonce);
    EXPECT_TRUE(scene.jar.is_mine(second, scene.from, 3, scene.nonce, cookie));
    EXPECT_FALSE(scene.jar.is_mine(second, ipv4(10, 0, 0, 1, 98), 3, scene.nonce, cookie));
    EXPECT_FALSE(scene.jar.is_mine(second, scene.from, 4, scene.nonce, cookie));
    EXPECT_FALSE(scene.jar.is_mine(second, scene.from, 3, Random16{}, cookie));
    EXPECT_FALSE(scene.jar.is_mine(second, scene.from, 3, scene.nonce, Random16{}));
}

// WIRE-16
TEST(CookieJar, takes_a_cookie_until_the_end_of_the_next_ten_seconds) {
    Scene scene;
    const Random16 cookie = scene.jar.make(19 * second, scene.from, 3, scene.nonce);
    EXPECT_TRUE(scene.jar.is_mine(30 * second - 1, scene.from, 3, scene.nonce, cookie));
    EXPECT_FALSE(scene.jar.is_mine(30 * second, scene.from, 3, scene.nonce, cookie));
    EXPECT_FALSE(scene.jar.is_mine(9 * second, scene.from, 3, scene.nonce, cookie));
}

TEST(CookieJar, does_not_know_another_jar_s_cookies) {
    Scene scene;
    CookieJar other(scene.suite, scene.entropy);
    const Random16 cookie = other.make(second, scene.from, 3, scene.nonce);
    EXPECT_FALSE(scene.jar.is_mine(second, scene.from, 3, scene.nonce, cookie));
}

}  // namespace
}  // namespace acp::datagram
