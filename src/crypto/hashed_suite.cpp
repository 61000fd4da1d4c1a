// SPDX-License-Identifier: BSD-3-Clause
// HMAC and HKDF. Messages are assembled in the scratch memory, so that a hash function for one
// contiguous message suffices.
#include "crypto/hashed_suite.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.hpp"
#include "crypto/x25519.hpp"

namespace acp::crypto {

namespace {

constexpr std::byte inner_pad{0x36};
constexpr std::byte outer_pad{0x5c};
constexpr std::size_t expansions_max = 255;

// Layout of the scratch memory: a padded key with a message behind it, then three digests.
constexpr std::size_t message_at = hash_block_bytes;
constexpr std::size_t inner_at = message_at + message_bytes_max;
constexpr std::size_t extracted_at = inner_at + hash_bytes;
constexpr std::size_t expanded_at = extracted_at + hash_bytes;
constexpr std::size_t scratch_bytes = expanded_at + hash_bytes;

void pad(MutableBytes block, std::byte padding) noexcept {
    for (std::byte& byte : block) byte ^= padding;
}

}  // namespace

base::Result<os::SecretMemory> HashedSuite::make_scratch() {
    return os::SecretMemory::allocate(scratch_bytes);
}

// HMAC (RFC 2104): H((K ^ opad) || H((K ^ ipad) || message)). The key and the parts of the message
// may lie in the digests of the scratch memory.
void HashedSuite::mac(Bytes key, std::initializer_list<Bytes> parts, Digest result) noexcept {
    const MutableBytes scratch = scratch_.bytes();
    const auto block = scratch.first(hash_block_bytes);
    const Digest inner(scratch.subspan(inner_at, hash_bytes));
    std::array<std::byte, hash_block_bytes> key_block{};
    if (key.size() > hash_block_bytes) {
        sha256(key, Digest(key_block.data(), hash_bytes));
    } else if (!key.empty()) {
        std::memcpy(key_block.data(), key.data(), key.size());
    }
    std::memcpy(block.data(), key_block.data(), key_block.size());
    pad(block, inner_pad);
    std::size_t end = message_at;
    for (const Bytes part : parts) {
        ACP_ASSERT(part.size() <= inner_at - end);
        if (!part.empty()) std::memcpy(scratch.data() + end, part.data(), part.size());
        end += part.size();
    }
    sha256(scratch.first(end), inner);
    std::memcpy(block.data(), key_block.data(), key_block.size());
    pad(block, outer_pad);
    std::memcpy(scratch.data() + message_at, inner.data(), inner.size());
    sha256(scratch.first(message_at + hash_bytes), result);
    os::wipe(key_block);
    os::wipe(scratch.first(std::max(end, message_at + hash_bytes)));
    os::wipe(inner);
}

void HashedSuite::derive(Bytes secret, Bytes salt, Bytes info, MutableBytes out) noexcept {
    ACP_ASSERT(out.size() <= expansions_max * hash_bytes);
    const Digest extracted(scratch_.bytes().subspan(extracted_at, hash_bytes));
    const Digest expanded(scratch_.bytes().subspan(expanded_at, hash_bytes));
    // HKDF-Extract (RFC 5869, 2.2), then HKDF-Expand (2.3).
    mac(salt, {secret}, extracted);
    Bytes before;  // the previous block of the expansion; none at first
    std::array<std::byte, 1> number{};
    while (!out.empty()) {
        number[0] = static_cast<std::byte>(std::to_integer<unsigned>(number[0]) + 1);
        mac(extracted, {before, info, number}, expanded);
        const std::size_t bytes = std::min(out.size(), hash_bytes);
        std::memcpy(out.data(), expanded.data(), bytes);
        out = out.subspan(bytes);
        before = expanded;
    }
    os::wipe(extracted);
    os::wipe(expanded);
}

std::unique_ptr<datagram::KeyAgreement> HashedSuite::make_agreement(datagram::Entropy& entropy) {
    auto made = X25519::draw(agreement_, entropy);
    if (!made.is_ok()) return nullptr;
    return std::move(made).value();
}

void HashedSuite::authenticate(Bytes key,
                               Bytes message,
                               std::span<std::byte, 16> mac_out) noexcept {
    const Digest whole(scratch_.bytes().subspan(expanded_at, hash_bytes));
    mac(key, {message}, whole);
    std::memcpy(mac_out.data(), whole.data(), mac_out.size());
    os::wipe(whole);
}

}  // namespace acp::crypto
