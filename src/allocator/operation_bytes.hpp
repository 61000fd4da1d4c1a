// SPDX-License-Identifier: BSD-3-Clause
// Arguments and results of the numbered operations of this layer: bytes, from which values are
// taken one behind the other. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace acp::allocator {

using OperationArguments = std::span<const std::byte>;
using OperationResult = std::span<std::byte>;

// Takes a value off the front. false: there are too few bytes.
template <typename Value>
bool take(OperationArguments& from, Value& value) noexcept {
    if (from.size() < sizeof value) return false;
    std::memcpy(&value, from.data(), sizeof value);
    from = from.subspan(sizeof value);
    return true;
}

// Takes a number of bytes off the front. false: there are too few.
inline bool take(OperationArguments& from,
                 std::uint64_t bytes,
                 OperationArguments& taken) noexcept {
    if (from.size() < bytes) return false;
    taken = from.first(bytes);
    from = from.subspan(bytes);
    return true;
}

}  // namespace acp::allocator
