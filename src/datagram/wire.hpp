// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a datagram that are in clear and the first ones inside: outer header and sealed header, and a
// reader that cannot leave its bytes. Knows no key, no state and no handshake message. Pure; any thread. Layouts:
// docs/spec/wire.md. Tests: tests/unit/datagram/wire_test.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datagram/cipher.hpp"

namespace acp::datagram {

static_assert(std::endian::native == std::endian::little, "WIRE-1: the wire is little endian");

inline constexpr std::uint8_t wire_version = 2;

enum class PacketType : std::uint8_t { init = 1, cookie = 2, response = 3, data = 4, close = 5 };

// WIRE-2: the first 16 bytes of every datagram, authenticated but not encrypted.
struct OuterHeader {
    std::uint8_t version = wire_version;
    std::uint8_t type = 0;
    std::uint16_t bytes = 0;  // of the whole datagram: those that a kernel joined can be told apart
    std::uint32_t source =
        0;  // node that sent it, which is the index of its connection at the target
    std::uint64_t number =
        0;  // packet number of data; of a close, that of the data it answers; else 0
};

static_assert(sizeof(OuterHeader) == 16 && offsetof(OuterHeader, number) == 8);

// WIRE-20: the first 8 bytes of the sealed part. Then `frame_bytes` of frames, then control frames to the end.
struct SealedHeader {
    std::uint32_t dsn = 0;          // serial number; 0 when it has none
    std::uint16_t frame_bytes = 0;  // 0 without a serial number
    std::uint8_t flags = 0;         // bit 0: has a serial number; others 0
    std::uint8_t reserved = 0;
};

static_assert(sizeof(SealedHeader) == 8 && offsetof(SealedHeader, flags) == 6);

// WIRE-21: what stands at the front of a control frame.
enum class ControlFrame : std::uint8_t {
    padding = 0,  // so is all that follows
    ack = 1,      // AckFrame
    ping = 2      // nothing more: wants an acknowledgement
};

inline constexpr std::uint8_t has_dsn = 1;
inline constexpr std::uint32_t outer_bytes = sizeof(OuterHeader);
inline constexpr std::uint32_t sealed_bytes = sizeof(SealedHeader);

// A datagram's bytes that are not frames.
inline constexpr std::uint32_t overhead_bytes = outer_bytes + sealed_bytes + tag_bytes;

// The smallest and the largest UDP payload that Settings may ask for.
inline constexpr std::uint32_t datagram_bytes_least = 576;
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

// How long the first of some datagrams in a row says that it is; all bytes, where that cannot be.
[[nodiscard]] inline std::uint32_t first_datagram_bytes(Bytes joined) noexcept {
    const auto all = static_cast<std::uint32_t>(joined.size());
    if (all < outer_bytes) return all;
    const std::uint32_t first = load<OuterHeader>(joined.data()).bytes;
    return first < outer_bytes || first > all ? all : first;
}

// Takes fields off the front of some bytes; once one did not fit, nothing does and is_good() is false.
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
