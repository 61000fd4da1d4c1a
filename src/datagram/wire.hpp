// SPDX-License-Identifier: BSD-3-Clause
// The outer header of a datagram, which is in clear, and the sealed header, the first bytes of the encrypted part; and a reader
// that cannot leave its bytes. Knows no key, no state and no handshake message. Pure; any thread. Layouts: docs/spec/wire.md.
// Tests: tests/unit/datagram/wire_test.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datagram/cipher.hpp"

namespace acp::datagram {

static_assert(std::endian::native == std::endian::little, "WIRE-1: the wire is little endian");

inline constexpr std::uint8_t wire_version = 4;

enum class PacketType : std::uint8_t { init = 1, cookie = 2, response = 3, data = 4, close = 5 };

// WIRE-2: the first 16 bytes of every datagram, authenticated but not encrypted.
struct OuterHeader {
    std::uint8_t version = wire_version;
    std::uint8_t type = 0;
    // Length of the whole datagram: separates those that the kernel coalesced.
    std::uint16_t bytes = 0;
    // The node that sent it; the receiver finds the connection by it.
    std::uint32_t source = 0;
    // The packet number of data; in a CLOSE that of the data it answers; else 0.
    std::uint64_t number = 0;
};

static_assert(sizeof(OuterHeader) == 16 && offsetof(OuterHeader, number) == 8);

// WIRE-20: the first 8 bytes of the sealed part. Then `frame_bytes` of frames, then control frames to the end.
struct SealedHeader {
    std::uint32_t dsn = 0;          // serial number of the content; 0 if there is none
    std::uint16_t frame_bytes = 0;  // length of the frames; 0 without a serial number
    std::uint8_t flags = 0;         // bit 0: has a serial number; others 0
    std::uint8_t reserved = 0;
};

static_assert(sizeof(SealedHeader) == 8 && offsetof(SealedHeader, flags) == 6);

// WIRE-21: the first byte of a control frame, its type.
enum class ControlFrame : std::uint8_t {
    padding = 0,  // all that follows is padding too
    ack = 1,      // AckFrame
    ping = 2      // one byte; asks for an acknowledgement
};

inline constexpr std::uint8_t has_dsn = 1;
inline constexpr std::uint32_t outer_bytes = sizeof(OuterHeader);
inline constexpr std::uint32_t sealed_bytes = sizeof(SealedHeader);

// The bytes of a datagram that are not frames.
inline constexpr std::uint32_t overhead_bytes = outer_bytes + sealed_bytes + tag_bytes;

// The smallest and the largest UDP payload that Settings may ask for: what an IPv4 packet of 576 bytes carries, and UDP.
inline constexpr std::uint32_t datagram_bytes_least = 548;
inline constexpr std::uint32_t datagram_bytes_most = 65507;

// Any trivially copyable layout, to and from bytes without alignment.
template <typename T>
void store(std::byte* to, const T& value) noexcept {
    std::memcpy(to, &value, sizeof value);
}

template <typename T>
[[nodiscard]] T load(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// The length of the first of several coalesced datagrams, as its header says; all bytes if that length is impossible.
[[nodiscard]] inline std::uint32_t first_datagram_bytes(Bytes joined) noexcept {
    const auto all = static_cast<std::uint32_t>(joined.size());
    if (all < outer_bytes) return all;
    const std::uint32_t first = load<OuterHeader>(joined.data()).bytes;
    return first < outer_bytes || first > all ? all : first;
}

// Reads fields from the front of a span. Once a field did not fit, no further one does, and is_good() is false.
class Reader {
public:
    explicit Reader(Bytes bytes) noexcept : rest_(bytes) {}

    template <typename T>
    [[nodiscard]] T take() noexcept {
        if (rest_.size() < sizeof(T)) {
            fail();
            return T{};
        }
        const T value = load<T>(rest_.data());
        rest_ = rest_.subspan(sizeof(T));
        return value;
    }

    [[nodiscard]] Bytes take_bytes(std::size_t count) noexcept {
        if (rest_.size() < count) {
            fail();
            return {};
        }
        const Bytes taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }

    [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

    [[nodiscard]] bool is_good() const noexcept { return is_good_; }

private:
    void fail() noexcept {
        rest_ = {};
        is_good_ = false;
    }

    Bytes rest_;
    bool is_good_ = true;
};

}  // namespace acp::datagram
