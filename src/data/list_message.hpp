// SPDX-License-Identifier: BSD-3-Clause
// The bytes of one operation on a list: its arguments, put together one after the other, and its result. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "gma/invokes.hpp"

namespace acp::data {

using ListBuffer = std::array<std::byte, memory::invoke_bytes_max>;

// The arguments or the result of one operation.
class ListMessage {  // NOLINT(cppcoreguidelines-pro-type-member-init): written as far as read
public:
    template <typename Value>
    ListMessage& add(const Value& value) noexcept {
        return add(std::as_bytes(std::span(&value, 1)));
    }

    ListMessage& add(std::span<const std::byte> bytes) noexcept {
        if (!bytes.empty()) std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
        used_ += bytes.size();
        return *this;
    }

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return std::span(buffer_).first(used_);
    }

private:
    ListBuffer buffer_;
    std::size_t used_ = 0;
};

template <typename Value>
[[nodiscard]] Value value_in(std::span<const std::byte> bytes) noexcept {
    Value value{};
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    return value;
}

}  // namespace acp::data
