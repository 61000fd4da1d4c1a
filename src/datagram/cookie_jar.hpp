// SPDX-License-Identifier: BSD-3-Clause
// Stateless cookies (RFC 9147, 5.1): they prove that the sender of an INIT receives at the address
// it came from, and nothing is kept to make or check them. A cookie is a MAC over address, node,
// nonce and a time bucket of ten seconds. Knows no packet. One thread.
// Tests: tests/unit/datagram/cookie_jar_test.cpp.
#pragma once

#include "datagram/address.hpp"
#include "datagram/cipher.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/handshake_packets.hpp"
#include "datagram/key_schedule.hpp"

namespace acp::datagram {

class CookieJar {
public:
    static constexpr Time bucket_ns = 10'000'000'000;

    // Draws the secret under which cookies are made. Throws std::bad_alloc.
    //   suite  must outlive it
    CookieJar(CipherSuite& suite, Entropy& entropy)
        : suite_(suite), secret_(make_in_secret_memory<Secret>(suite)) {
        if (secret_ == nullptr) throw std::bad_alloc();
        entropy.fill(*secret_);
    }

    ~CookieJar() = default;

    CookieJar(const CookieJar&) = delete;
    CookieJar& operator=(const CookieJar&) = delete;

    // Makes the cookie for an INIT.
    //   from, node, nonce  the INIT's source address, node and nonce
    [[nodiscard]] Random16 make(Time now,
                                const Address& from,
                                NodeId node,
                                const Random16& nonce) noexcept {
        return bake(now / bucket_ns, from, node, nonce);
    }

    // WIRE-16: whether a cookie was made here for this INIT, in the current time bucket or the one
    // before.
    [[nodiscard]] bool is_mine(Time now,
                               const Address& from,
                               NodeId node,
                               const Random16& nonce,
                               const Random16& cookie) noexcept {
        const Time bucket = now / bucket_ns;
        return equal(cookie, bake(bucket, from, node, nonce)) ||
               (bucket > 0 && equal(cookie, bake(bucket - 1, from, node, nonce)));
    }

private:
    // WIRE-17
    [[nodiscard]] Random16 bake(Time bucket,
                                const Address& from,
                                NodeId node,
                                const Random16& nonce) noexcept {
        std::array<std::byte, sizeof bucket + sizeof from + sizeof node + sizeof nonce> message{};
        store(message.data(), bucket);
        store(message.data() + 8, from);
        store(message.data() + 28, node);
        store(message.data() + 32, nonce);
        Random16 cookie;
        suite_.authenticate(*secret_, message, cookie);
        return cookie;
    }

    // Compares in constant time, so that a forger learns nothing from how long it takes.
    [[nodiscard]] static bool equal(const Random16& a, const Random16& b) noexcept {
        std::byte difference{};
        for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
        return difference == std::byte{};
    }

    CipherSuite& suite_;
    SecretPointer<Secret> secret_;
};

}  // namespace acp::datagram
