// SPDX-License-Identifier: BSD-3-Clause
// Bytes that travel with a lock, in shared memory: the holder reads them when it has the lock, and
// publishes others before it releases it. Two slots: the bytes of the last publication, and room
// for the next one. One store of the version makes a publication whole, so a holder that dies at
// any instruction leaves the bytes of the publication before. Knows neither the lock nor the meaning
// of the bytes. The holder alone publishes; any thread that excludes publications reads. Zeros are
// no record.
// Tests: tests/unit/sync/lock_bytes_test.cpp, under the seeded scheduler, with kills.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace acp::sync {

template <template <class> class Atomic = std::atomic>
struct alignas(64) LockBytesHead {
    // Distinguishes a record from other memory. Writers: its maker, and the thread that frees it
    Atomic<std::uint64_t> mark{0};
    Atomic<std::uint64_t> bytes{0};  // 1 or more; writer: the maker
    // Counts publications: the newest bytes are in slot `version` % 2. Writer: the holder
    Atomic<std::uint64_t> version{0};
    std::uint64_t reserved[5] = {};
};

static_assert(sizeof(LockBytesHead<>) == 64);

template <template <class> class Atomic = std::atomic>
class LockBytes {
public:
    //   bytes  head.bytes
    LockBytes(LockBytesHead<Atomic>& head, std::uint64_t bytes) noexcept
        : head_(&head), slots_(reinterpret_cast<std::byte*>(&head + 1)), bytes_(bytes) {}

    // The memory of a record.
    [[nodiscard]] static constexpr std::uint64_t record_bytes(std::uint64_t bytes) noexcept {
        return sizeof(LockBytesHead<Atomic>) + 2 * stride_of(bytes);
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    // Copies the newest bytes.   into  bytes() of them
    void read(std::span<std::byte> into) const noexcept {
        // acquire: the bytes; partner: publish()
        const std::uint64_t version = head_->version.load(std::memory_order_acquire);
        std::memcpy(into.data(), slot(version), into.size());
    }

    //   from  bytes() of them
    void publish(std::span<const std::byte> from) const noexcept {
        // relaxed: the lock orders holders, and with them their publications
        const std::uint64_t version = head_->version.load(std::memory_order_relaxed) + 1;
        std::memcpy(slot(version), from.data(), from.size());
        head_->version.store(version, std::memory_order_release);  // partner: read()
    }

    // The record of a lock, in one mapping with its head; none if not as many bytes are bound to it.
    template <typename LockHeadType>
    [[nodiscard]] static std::optional<LockBytes> of(LockHeadType& lock,
                                                     std::uint64_t bytes) noexcept {
        // acquire: the record is made
        const std::uint64_t distance = lock.record.load(std::memory_order_acquire);
        auto& head =
            *reinterpret_cast<LockBytesHead<Atomic>*>(reinterpret_cast<char*>(&lock) + distance);
        if (distance == 0 || head.bytes.load(std::memory_order_relaxed) != bytes)
            return std::nullopt;
        return LockBytes(head, bytes);
    }

private:
    // A slot begins at a cache line.
    [[nodiscard]] static constexpr std::uint64_t stride_of(std::uint64_t bytes) noexcept {
        return (bytes + 63) / 64 * 64;
    }

    [[nodiscard]] std::byte* slot(std::uint64_t version) const noexcept {
        return slots_ + version % 2 * stride_of(bytes_);
    }

    LockBytesHead<Atomic>* head_;
    std::byte* slots_;
    std::uint64_t bytes_;
};

}  // namespace acp::sync
