// SPDX-License-Identifier: BSD-3-Clause
// The bytes of one numbered operation of a container: its arguments, put together one after the
// other, and its result. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "gma/invokes.hpp"

namespace acp::data {

// The most bytes of an operation's arguments, and of its result.
inline constexpr std::size_t message_bytes = memory::invoke_bytes_max;

using OperationRoom = std::array<std::byte, message_bytes>;

// The arguments of an operation.
class OperationMessage {  // NOLINT(cppcoreguidelines-pro-type-member-init): written as far as read
public:
    template <typename Words>
    OperationMessage& add(const Words& words) noexcept {
        return add(std::as_bytes(std::span(&words, 1)));
    }

    // Bytes that do not fit are left out, and is_whole() becomes false.
    OperationMessage& add(std::span<const std::byte> bytes) noexcept {
        is_whole_ = is_whole_ && bytes.size() <= room_.size() - used_;
        if (!is_whole_ || bytes.empty()) return *this;
        std::memcpy(room_.data() + used_, bytes.data(), bytes.size());
        used_ += bytes.size();
        return *this;
    }

    [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return std::span(room_).first(used_);
    }

private:
    OperationRoom room_;
    std::size_t used_ = 0;
    bool is_whole_ = true;
};

template <typename Value>
[[nodiscard]] Value value_in(std::span<const std::byte> bytes) noexcept {
    Value value{};
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    return value;
}

}  // namespace acp::data
