// SPDX-License-Identifier: BSD-3-Clause
// The suite without a library: its keys and MACs depend on every input, and its AEAD refuses
// everything.
#include "crypto/clear_suite.hpp"

#include <array>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <string_view>

#include "crypto/choose.hpp"

namespace acp::crypto {
namespace {

using datagram::Bytes;

Bytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::string derived(std::string_view secret,
                    std::string_view salt,
                    std::string_view info,
                    std::size_t count) {
    ClearSuite suite;
    std::string out(count, '\0');
    suite.derive(bytes_of(secret), bytes_of(salt), bytes_of(info),
                 std::as_writable_bytes(std::span(out)));
    return out;
}

std::string mac_of(std::string_view key, std::string_view message) {
    ClearSuite suite;
    std::array<std::byte, 16> mac{};
    suite.authenticate(bytes_of(key), bytes_of(message), mac);
    return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

TEST(ClearSuite, derives_the_same_from_the_same_and_else_something_else) {
    EXPECT_EQ(derived("secret", "salt", "info", 32), derived("secret", "salt", "info", 32));
    const std::set<std::string> all{
        derived("secret", "salt", "info", 32), derived("Secret", "salt", "info", 32),
        derived("secret", "Salt", "info", 32), derived("secret", "salt", "Info", 32),
        derived("secret", "", "info", 32),     derived("", "", "", 32)};
    EXPECT_EQ(all.size(), 6U);
    for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 255U}) {
        EXPECT_EQ(derived("secret", "salt", "info", count),
                  derived("secret", "salt", "info", 256).substr(0, count))
            << count;
    }
}

TEST(ClearSuite, its_mac_depends_on_key_and_message) {
    EXPECT_EQ(mac_of("key", "message"), mac_of("key", "message"));
    EXPECT_NE(mac_of("key", "message"), mac_of("kez", "message"));
    EXPECT_NE(mac_of("key", "message"), mac_of("key", "messagf"));
    EXPECT_NE(mac_of("key", ""), mac_of("", "key"));
}

TEST(ClearSuite, its_aead_passes_no_byte) {
    ClearSuite suite;
    const std::array<std::byte, 16> key{};
    const auto aead = suite.make(key);
    ASSERT_NE(aead, nullptr);
    std::string sealed(20, 'x');
    aead->seal({}, {}, bytes_of("text"), std::as_writable_bytes(std::span(sealed)));
    EXPECT_EQ(sealed, std::string(20, '\0'));
    EXPECT_FALSE(aead->open({}, {}, std::as_writable_bytes(std::span(sealed))));
}

TEST(ClearSuite, is_the_suite_of_security_off_alone) {
    constexpr std::array<const char*, 1> missing = {"libno-such-library.so.77"};
    const LibraryNames none{missing, missing};
    const auto off =
        suite_for(base::Security::off, CipherWish::aes_128_gcm, BackendWish::libcrypto, none);
    ASSERT_TRUE(off.is_ok());
    EXPECT_STREQ(off.value()->name(), "none");
    EXPECT_EQ(off.value()->number(), 0);
    for (const base::Security security : {base::Security::encrypt, base::Security::authenticate}) {
        EXPECT_EQ(suite_for(security, CipherWish::aes_128_gcm, BackendWish::libcrypto, none)
                      .failure()
                      .code(),
                  base::Code::unsupported);
    }
}

}  // namespace
}  // namespace acp::crypto
