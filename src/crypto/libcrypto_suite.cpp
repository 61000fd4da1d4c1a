// SPDX-License-Identifier: BSD-3-Clause
// The suites of libcrypto. The key is expanded once per cipher; each datagram only sets its nonce.
#include <array>
#include <new>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "crypto/hashed_suite.hpp"
#include "crypto/libcrypto.hpp"
#include "crypto/unsigned_bytes.hpp"

namespace acp::crypto {

namespace {

// Commands of EVP_CIPHER_CTX_ctrl.
constexpr int get_tag = 0x10;
constexpr int set_tag = 0x11;
constexpr int tag_size = static_cast<int>(datagram::tag_bytes);

int size_of(Bytes bytes) noexcept {
    ACP_ASSERT(bytes.size() <= message_bytes_max);
    return static_cast<int>(bytes.size());
}

class LibcryptoAead final : public datagram::Aead {
public:
    LibcryptoAead(std::shared_ptr<const Libcrypto> library, EvpCipherContext* context) noexcept
        : library_(std::move(library)), context_(context) {}

    LibcryptoAead(const LibcryptoAead&) = delete;
    LibcryptoAead& operator=(const LibcryptoAead&) = delete;

    ~LibcryptoAead() override { library_->free_context(context_); }

    void seal(const datagram::Nonce& nonce,
              Bytes additional,
              Bytes plain,
              MutableBytes sealed) noexcept override {
        seal_pieces(nonce, additional, {&plain, 1}, sealed);
    }

    void seal_pieces(const datagram::Nonce& nonce,
                     Bytes additional,
                     datagram::Pieces plain,
                     MutableBytes sealed) noexcept override {
        const Libcrypto& library = *library_;
        ACP_ASSERT(sealed.size() >= datagram::bytes_of(plain) + datagram::tag_bytes);
        int done = 0;
        bool is_ok = library.encrypt_init(context_, nullptr, nullptr, nullptr,
                                          unsigned_of(Bytes(nonce))) == 1;
        if (!additional.empty()) {
            is_ok = library.encrypt_update(context_, nullptr, &done, unsigned_of(additional),
                                           size_of(additional)) == 1 &&
                    is_ok;
        }
        for (const Bytes piece : plain) {
            if (piece.empty()) continue;
            is_ok = library.encrypt_update(context_, unsigned_of(sealed), &done, unsigned_of(piece),
                                           size_of(piece)) == 1 &&
                    is_ok;
            sealed = sealed.subspan(piece.size());
        }
        const MutableBytes tag = sealed.first(datagram::tag_bytes);
        is_ok = library.encrypt_final(context_, unsigned_of(tag), &done) == 1 && is_ok;
        is_ok = library.control(context_, get_tag, tag_size, tag.data()) == 1 && is_ok;
        // These calls fail only if made in a wrong order.
        ACP_ASSERT(is_ok);
    }

    bool open(const datagram::Nonce& nonce,
              Bytes additional,
              MutableBytes sealed) noexcept override {
        if (sealed.size() < datagram::tag_bytes || sealed.size() > message_bytes_max) return false;
        const Libcrypto& library = *library_;
        const MutableBytes text = sealed.first(sealed.size() - datagram::tag_bytes);
        const MutableBytes tag = sealed.last(datagram::tag_bytes);
        int done = 0;
        if (library.decrypt_init(context_, nullptr, nullptr, nullptr, unsigned_of(Bytes(nonce))) !=
            1) {
            return false;
        }
        if (!additional.empty() &&
            library.decrypt_update(context_, nullptr, &done, unsigned_of(additional),
                                   size_of(additional)) != 1) {
            return false;
        }
        if (!text.empty() && library.decrypt_update(context_, unsigned_of(text), &done,
                                                    unsigned_of(Bytes(text)), size_of(text)) != 1) {
            return false;
        }
        return library.control(context_, set_tag, tag_size, tag.data()) == 1 &&
               library.decrypt_final(context_, unsigned_of(tag), &done) == 1;
    }

private:
    std::shared_ptr<const Libcrypto> library_;
    EvpCipherContext* context_;
};

class LibcryptoSuite final : public HashedSuite {
public:
    LibcryptoSuite(os::SecretMemory scratch,
                   std::shared_ptr<const Libcrypto> library,
                   CipherWish cipher) noexcept
        : HashedSuite(std::move(scratch), library),
          library_(std::move(library)),
          is_aes_(cipher == CipherWish::aes_128_gcm),
          cipher_(is_aes_ ? library_->aes_128_gcm() : library_->chacha20_poly1305()) {}

    [[nodiscard]] const char* name() const noexcept override {
        return is_aes_ ? "aes-128-gcm/libcrypto" : "chacha20-poly1305/libcrypto";
    }

    [[nodiscard]] std::size_t key_bytes() const noexcept override { return is_aes_ ? 16 : 32; }

    [[nodiscard]] std::uint8_t number() const noexcept override {
        return is_aes_ ? datagram::number_of_aes_128_gcm : datagram::number_of_chacha20_poly1305;
    }

    std::unique_ptr<datagram::Aead> make(Bytes key) noexcept override {
        ACP_ASSERT(key.size() == key_bytes());
        EvpCipherContext* context = library_->new_context();
        if (context == nullptr) return nullptr;
        std::unique_ptr<datagram::Aead> aead(new (std::nothrow) LibcryptoAead(library_, context));
        if (aead == nullptr) {
            library_->free_context(context);
            return nullptr;
        }
        // Encryption and decryption share the expanded key, and the cipher's default nonce length
        // is ours (12 bytes).
        const bool is_ok =
            library_->encrypt_init(context, cipher_, nullptr, unsigned_of(key), nullptr) == 1;
        return is_ok ? std::move(aead) : nullptr;
    }

private:
    void sha256(Bytes data, Digest digest) noexcept override {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): sha256_init writes it
        Sha256Context context;
        const bool is_ok = library_->sha256_init(&context) == 1 &&
                           library_->sha256_update(&context, data.data(), data.size()) == 1 &&
                           library_->sha256_final(unsigned_of(MutableBytes(digest)), &context) == 1;
        os::wipe(std::as_writable_bytes(std::span(&context, 1)));
        // These calls fail only if made in a wrong order.
        ACP_ASSERT(is_ok);
    }

    std::shared_ptr<const Libcrypto> library_;
    bool is_aes_;
    const EvpCipher* cipher_;
};

}  // namespace

Result<std::unique_ptr<datagram::CipherSuite>> make_suite(std::shared_ptr<const Libcrypto> library,
                                                          CipherWish cipher) {
    auto scratch = HashedSuite::make_scratch();
    if (!scratch.is_ok()) return std::move(scratch).failure();
    auto suite =
        std::make_unique<LibcryptoSuite>(std::move(scratch).value(), std::move(library), cipher);
    // A library may be built or configured to refuse a cipher. Finds that out now rather than at
    // the first handshake.
    const std::array<std::byte, datagram::key_bytes_max> key{};
    if (suite->make(Bytes(key).first(suite->key_bytes())) == nullptr) {
        return base::Status(base::Code::unsupported,
                            std::string(suite->name()) +
                                ": this library refuses the cipher (a restricted build, its "
                                "openssl.cnf, or no memory)");
    }
    return std::unique_ptr<datagram::CipherSuite>(std::move(suite));
}

}  // namespace acp::crypto
