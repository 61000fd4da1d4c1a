// SPDX-License-Identifier: BSD-3-Clause
// The interface of fuzz targets: a target turns a fuzzer's bytes into decisions, runs the tested
// code with them, and ends the process if a requirement does not hold. A target is deterministic in
// its bytes. Knows no target and no fuzzer. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace acp::fuzz {

// Takes values off the front of the bytes. Behind the last byte every value is 0.
class Input {
public:
    explicit Input(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

    [[nodiscard]] bool is_empty() const noexcept { return rest_.empty(); }

    template <typename T>
    [[nodiscard]] T take() noexcept {
        T value{};
        const std::size_t count = std::min(sizeof value, rest_.size());
        if (count != 0) std::memcpy(&value, rest_.data(), count);
        rest_ = rest_.subspan(count);
        return value;
    }

    [[nodiscard]] std::uint8_t byte() noexcept { return take<std::uint8_t>(); }

    // 0 .. count - 1, from one byte.
    //   count  1 to 256
    [[nodiscard]] std::uint32_t below(std::uint32_t count) noexcept { return byte() % count; }

    // At most `count` bytes, fewer at the end of the input.
    [[nodiscard]] std::vector<std::byte> bytes(std::size_t count) {
        const auto taken = rest_.first(std::min(count, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return {taken.begin(), taken.end()};
    }

    // A piece with its length in two bytes before it.
    [[nodiscard]] std::vector<std::byte> piece() { return bytes(take<std::uint16_t>()); }

    // All remaining bytes.
    [[nodiscard]] std::string_view text() noexcept {
        const std::string_view all(reinterpret_cast<const char*>(rest_.data()), rest_.size());
        rest_ = {};
        return all;
    }

private:
    std::span<const std::byte> rest_;
};

// Ends the process unless the condition holds, so that the fuzzer records the input.
//   what  the requirement
inline void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "fuzz: broken promise: %s\n", what);
    std::abort();
}

// The target. Defined once per program.
void run(Input& input);

}  // namespace acp::fuzz
