// SPDX-License-Identifier: BSD-3-Clause
// The suite ChaCha20-Poly1305 by libipsec-mb: one job per datagram.
#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "crypto/hashed_suite.hpp"
#include "crypto/ipsec_mb_jobs.hpp"
#include "crypto/key_cells.hpp"
#include "crypto/tags.hpp"

namespace acp::crypto {

namespace {

constexpr std::size_t chacha_key_bytes = 32;
constexpr std::size_t cell_bytes = 64;

// What all ciphers of a suite share. Each cipher holds a reference, so it lives until the last one
// is destroyed.
struct ChaChaShared {
    explicit ChaChaShared(std::unique_ptr<IpsecMbJobs> opened) noexcept : jobs(std::move(opened)) {}

    std::unique_ptr<IpsecMbJobs> jobs;
    KeyCells cells{cell_bytes};
};

class ChaChaAead final : public datagram::Aead {
public:
    ChaChaAead(std::shared_ptr<ChaChaShared> shared, MutableBytes cell, Bytes key) noexcept
        : shared_(std::move(shared)), cell_(cell) {
        std::copy(key.begin(), key.end(), cell_.begin());
    }

    ChaChaAead(const ChaChaAead&) = delete;
    ChaChaAead& operator=(const ChaChaAead&) = delete;

    ~ChaChaAead() override { shared_->cells.give_back(cell_); }

    void seal(const datagram::Nonce& nonce,
              Bytes additional,
              Bytes plain,
              MutableBytes sealed) noexcept override {
        ACP_ASSERT(sealed.size() >= plain.size() + datagram::tag_bytes);
        shared_->jobs->run(
            IpsecMbJobs::Direction::seal,
            {cell_.data(), nonce, additional, plain, sealed.data(), sealed.data() + plain.size()});
    }

    bool open(const datagram::Nonce& nonce,
              Bytes additional,
              MutableBytes sealed) noexcept override {
        if (sealed.size() < datagram::tag_bytes) return false;
        const MutableBytes text = sealed.first(sealed.size() - datagram::tag_bytes);
        Tag tag;
        shared_->jobs->run(IpsecMbJobs::Direction::open,
                           {cell_.data(), nonce, additional, text, text.data(), tag.data()});
        return is_equal(tag, sealed.last(datagram::tag_bytes));
    }

private:
    std::shared_ptr<ChaChaShared> shared_;
    MutableBytes cell_;
};

class ChaChaSuite final : public HashedSuite {
public:
    ChaChaSuite(os::SecretMemory scratch,
                std::unique_ptr<IpsecMbJobs> jobs,
                std::shared_ptr<const Libcrypto> agreement)
        : HashedSuite(std::move(scratch), std::move(agreement)),
          shared_(std::make_shared<ChaChaShared>(std::move(jobs))) {}

    [[nodiscard]] const char* name() const noexcept override {
        return "chacha20-poly1305/libipsec-mb";
    }

    [[nodiscard]] std::size_t key_bytes() const noexcept override { return chacha_key_bytes; }

    [[nodiscard]] std::uint8_t number() const noexcept override {
        return datagram::number_of_chacha20_poly1305;
    }

    std::unique_ptr<datagram::Aead> make(Bytes key) noexcept override {
        ACP_ASSERT(key.size() == key_bytes());
        const MutableBytes cell = shared_->cells.take();
        if (cell.empty()) return nullptr;
        std::unique_ptr<datagram::Aead> aead(new (std::nothrow) ChaChaAead(shared_, cell, key));
        if (aead == nullptr) shared_->cells.give_back(cell);
        return aead;
    }

private:
    void sha256(Bytes data, Digest digest) noexcept override {
        shared_->jobs->library().sha256(data.data(), data.size(), digest.data());
    }

    std::shared_ptr<ChaChaShared> shared_;
};

}  // namespace

Result<std::unique_ptr<datagram::CipherSuite>> make_suite(
    std::unique_ptr<IpsecMbJobs> jobs, std::shared_ptr<const Libcrypto> agreement) {
    auto scratch = HashedSuite::make_scratch();
    if (!scratch.is_ok()) return std::move(scratch).failure();
    return std::unique_ptr<datagram::CipherSuite>(std::make_unique<ChaChaSuite>(
        std::move(scratch).value(), std::move(jobs), std::move(agreement)));
}

}  // namespace acp::crypto
