// SPDX-License-Identifier: BSD-3-Clause
// Intel's libipsec-mb computes ChaCha20-Poly1305 only as jobs that are submitted to a manager; they
// are complete when submit returns. A short message takes a third of libcrypto's time. The layouts
// of a job and of the manager's first words are those of version 1.3, declared by hand, so no other
// version is used. The library does not copy keys. A manager belongs to one thread.
// Tests: tests/unit/crypto/suite_test.cpp, choose_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "crypto/ipsec_mb.hpp"
#include "datagram/cipher.hpp"

namespace acp::crypto {

class IpsecMbJobs {
public:
    static constexpr std::uint32_t version_known = 0x10300;

    enum class Direction : std::uint32_t { seal = 1, open = 2 };

    // The input and output of one job.
    //   key      32 bytes
    //   in, out  of equal length; either the same bytes, or they do not overlap
    struct Message {
        const std::byte* key;
        const datagram::Nonce& nonce;
        datagram::Bytes additional;
        datagram::Bytes in;
        std::byte* out;
        std::byte* tag;  // tag_bytes long; also written on opening: the caller compares
    };

    // Makes a manager. Errors: unsupported (another version, or a function is missing), memory.
    static Result<std::unique_ptr<IpsecMbJobs>> open(std::shared_ptr<const IpsecMb> library);

    ~IpsecMbJobs();
    IpsecMbJobs(const IpsecMbJobs&) = delete;
    IpsecMbJobs& operator=(const IpsecMbJobs&) = delete;

    // Computes one message. Cannot fail.
    void run(Direction direction, const Message& message) noexcept;

    [[nodiscard]] const IpsecMb& library() const noexcept { return *library_; }

private:
    struct Job;
    struct Manager;
    using Submit = Job* (*)(Manager*);

    explicit IpsecMbJobs(std::shared_ptr<const IpsecMb> library) noexcept
        : library_(std::move(library)) {}

    base::Status start();

    std::shared_ptr<const IpsecMb> library_;
    Manager* manager_ = nullptr;
    void (*free_manager_)(Manager*) = nullptr;
};

// Makes the suite ChaCha20-Poly1305. Errors: memory.
Result<std::unique_ptr<datagram::CipherSuite>> make_suite(
    std::unique_ptr<IpsecMbJobs> jobs, std::shared_ptr<const Libcrypto> agreement);

}  // namespace acp::crypto
