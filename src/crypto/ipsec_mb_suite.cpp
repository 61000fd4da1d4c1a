// SPDX-License-Identifier: BSD-3-Clause
// The suite AES-128-GCM by libipsec-mb: one call for a datagram in one piece.
#include <array>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "crypto/hashed_suite.hpp"
#include "crypto/ipsec_mb.hpp"
#include "crypto/key_cells.hpp"
#include "crypto/tags.hpp"
#include "crypto/unsigned_bytes.hpp"

namespace acp::crypto {

namespace {

using MessageData = std::array<std::byte, IpsecMb::message_data_bytes>;

// What all ciphers of a suite share. Each cipher holds a reference, so it lives until the last one
// is destroyed.
struct AesShared {
    explicit AesShared(std::shared_ptr<const IpsecMb> loaded) noexcept
        : library(std::move(loaded)) {}

    std::shared_ptr<const IpsecMb> library;
    KeyCells cells{IpsecMb::key_data_bytes};
};

class IpsecMbAead final : public datagram::Aead {
public:
    IpsecMbAead(std::shared_ptr<AesShared> shared, MutableBytes key_data, Bytes key) noexcept
        : shared_(std::move(shared)), key_data_(key_data) {
        shared_->library->expand_key(key.data(), key_data_.data());
    }

    IpsecMbAead(const IpsecMbAead&) = delete;
    IpsecMbAead& operator=(const IpsecMbAead&) = delete;

    ~IpsecMbAead() override { shared_->cells.give_back(key_data_); }

    void seal(const datagram::Nonce& nonce,
              Bytes additional,
              Bytes plain,
              MutableBytes sealed) noexcept override {
        ACP_ASSERT(sealed.size() >= plain.size() + datagram::tag_bytes);
        alignas(64) MessageData message_data;
        const MutableBytes tag = sealed.subspan(plain.size(), datagram::tag_bytes);
        shared_->library->encrypt(key_data_.data(), message_data.data(), unsigned_of(sealed),
                                  unsigned_of(plain), plain.size(), unsigned_of(Bytes(nonce)),
                                  unsigned_of(additional), additional.size(),
                                  unsigned_of(MutableBytes(tag)), datagram::tag_bytes);
    }

    void seal_pieces(const datagram::Nonce& nonce,
                     Bytes additional,
                     datagram::Pieces plain,
                     MutableBytes sealed) noexcept override {
        const IpsecMb& library = *shared_->library;
        ACP_ASSERT(sealed.size() >= datagram::bytes_of(plain) + datagram::tag_bytes);
        alignas(64) MessageData message_data;
        library.begin(key_data_.data(), message_data.data(), unsigned_of(Bytes(nonce)),
                      unsigned_of(additional), additional.size());
        for (const Bytes piece : plain) {
            library.encrypt_piece(key_data_.data(), message_data.data(), unsigned_of(sealed),
                                  unsigned_of(piece), piece.size());
            sealed = sealed.subspan(piece.size());
        }
        library.end_encryption(key_data_.data(), message_data.data(), unsigned_of(sealed),
                               datagram::tag_bytes);
    }

    bool open(const datagram::Nonce& nonce,
              Bytes additional,
              MutableBytes sealed) noexcept override {
        if (sealed.size() < datagram::tag_bytes) return false;
        alignas(64) MessageData message_data;
        const MutableBytes text = sealed.first(sealed.size() - datagram::tag_bytes);
        Tag tag;
        shared_->library->decrypt(key_data_.data(), message_data.data(), unsigned_of(text),
                                  unsigned_of(Bytes(text)), text.size(), unsigned_of(Bytes(nonce)),
                                  unsigned_of(additional), additional.size(),
                                  unsigned_of(MutableBytes(tag)), tag.size());
        return is_equal(tag, sealed.last(datagram::tag_bytes));
    }

private:
    std::shared_ptr<AesShared> shared_;
    MutableBytes key_data_;
};

class IpsecMbSuite final : public HashedSuite {
public:
    IpsecMbSuite(os::SecretMemory scratch,
                 std::shared_ptr<const IpsecMb> library,
                 std::shared_ptr<const Libcrypto> agreement)
        : HashedSuite(std::move(scratch), std::move(agreement)),
          shared_(std::make_shared<AesShared>(std::move(library))) {}

    [[nodiscard]] const char* name() const noexcept override { return "aes-128-gcm/libipsec-mb"; }

    [[nodiscard]] std::size_t key_bytes() const noexcept override { return 16; }

    [[nodiscard]] std::uint8_t number() const noexcept override {
        return datagram::number_of_aes_128_gcm;
    }

    std::unique_ptr<datagram::Aead> make(Bytes key) noexcept override {
        ACP_ASSERT(key.size() == key_bytes());
        const MutableBytes cell = shared_->cells.take();
        if (cell.empty()) return nullptr;
        std::unique_ptr<datagram::Aead> aead(new (std::nothrow) IpsecMbAead(shared_, cell, key));
        if (aead == nullptr) shared_->cells.give_back(cell);
        return aead;
    }

private:
    void sha256(Bytes data, Digest digest) noexcept override {
        shared_->library->sha256(data.data(), data.size(), digest.data());
    }

    std::shared_ptr<AesShared> shared_;
};

}  // namespace

Result<std::unique_ptr<datagram::CipherSuite>> make_suite(
    std::shared_ptr<const IpsecMb> library, std::shared_ptr<const Libcrypto> agreement) {
    auto scratch = HashedSuite::make_scratch();
    if (!scratch.is_ok()) return std::move(scratch).failure();
    return std::unique_ptr<datagram::CipherSuite>(std::make_unique<IpsecMbSuite>(
        std::move(scratch).value(), std::move(library), std::move(agreement)));
}

}  // namespace acp::crypto
