// SPDX-License-Identifier: BSD-3-Clause
// Key agreement: for each exchange both keys become objects of the library, which wipes and frees
// them afterwards.
#include "crypto/x25519.hpp"

#include <algorithm>
#include <utility>

#include "crypto/unsigned_bytes.hpp"

namespace acp::crypto {

namespace {

constexpr int key_type = 1034;  // NID_X25519

// Removes what failed calls add to the library's error queue: the program may use the library too
// and would find our errors there.
class QuietErrors {
public:
    explicit QuietErrors(const Libcrypto& library) noexcept : library_(library) {
        library_.set_error_mark();
    }

    ~QuietErrors() { library_.pop_to_error_mark(); }

    QuietErrors(const QuietErrors&) = delete;
    QuietErrors& operator=(const QuietErrors&) = delete;

private:
    const Libcrypto& library_;
};

using Key = std::unique_ptr<EvpKey, void (*)(EvpKey*)>;
using KeyContext = std::unique_ptr<EvpKeyContext, void (*)(EvpKeyContext*)>;

}  // namespace

Result<std::unique_ptr<X25519>> X25519::make(
    std::shared_ptr<const Libcrypto> library,
    std::span<const std::byte, datagram::public_key_bytes> private_key) {
    auto memory = os::SecretMemory::allocate(private_key.size());
    if (!memory.is_ok()) return std::move(memory).failure();
    std::copy(private_key.begin(), private_key.end(), memory.value().bytes().begin());
    std::unique_ptr<X25519> made(new X25519(std::move(library), std::move(memory).value()));
    if (!made->compute_public_key() || !made->has_agreed()) {
        return base::Status(base::Code::unsupported,
                            "libcrypto refuses X25519, by which gateways agree on keys (a "
                            "restricted build, or its openssl.cnf)");
    }
    return made;
}

Result<std::unique_ptr<X25519>> X25519::draw(std::shared_ptr<const Libcrypto> library,
                                             datagram::Entropy& entropy) {
    auto drawn = os::SecretMemory::allocate(datagram::public_key_bytes);
    if (!drawn.is_ok()) return std::move(drawn).failure();
    const std::span<std::byte> bytes = drawn.value().bytes();
    entropy.fill(bytes);
    return make(std::move(library), bytes.first<datagram::public_key_bytes>());
}

bool X25519::compute_public_key() noexcept {
    const QuietErrors quiet(*library_);
    const Bytes own_bytes = private_key_.bytes();
    const Key own(
        library_->new_private_key(key_type, nullptr, unsigned_of(own_bytes), own_bytes.size()),
        library_->free_key);
    std::size_t bytes = public_key_.size();
    return own != nullptr &&
           library_->get_public_key(own.get(), reinterpret_cast<unsigned char*>(public_key_.data()),
                                    &bytes) == 1 &&
           bytes == public_key_.size();
}

// Whether an agreement works, tried with our own public key. At its first agreement the library
// allocates objects that it would lack for ever if memory was refused then. So the first one is
// made here, where a refusal can still be reported.
bool X25519::has_agreed() {
    auto shared = os::SecretMemory::allocate(datagram::public_key_bytes);
    return shared.is_ok() &&
           agree(public_key_, shared.value().bytes().first<datagram::public_key_bytes>());
}

bool X25519::agree(const datagram::PublicKey& other, std::span<std::byte, 32> out) noexcept {
    const QuietErrors quiet(*library_);
    const Bytes own_bytes = private_key_.bytes();
    const Key own(
        library_->new_private_key(key_type, nullptr, unsigned_of(own_bytes), own_bytes.size()),
        library_->free_key);
    const Key theirs(
        library_->new_public_key(key_type, nullptr, unsigned_of(Bytes(other)), other.size()),
        library_->free_key);
    return own != nullptr && theirs != nullptr && derive(own.get(), theirs.get(), out);
}

bool X25519::derive(EvpKey* own, EvpKey* other, std::span<std::byte, 32> out) const noexcept {
    const KeyContext context(library_->new_key_context(own, nullptr), library_->free_key_context);
    std::size_t bytes = out.size();
    if (context == nullptr || library_->begin_derivation(context.get()) != 1 ||
        library_->set_derivation_peer(context.get(), other) != 1 ||
        library_->derive(context.get(), reinterpret_cast<unsigned char*>(out.data()), &bytes) !=
            1 ||
        bytes != out.size()) {
        return false;
    }
    // RFC 7748, 6.1: a public key of small order makes the result all zero, whatever our private
    // key is. The library refuses it too.
    std::byte any{};
    for (const std::byte byte : out) any |= byte;
    return any != std::byte{};
}

}  // namespace acp::crypto
