// SPDX-License-Identifier: BSD-3-Clause
// What every fuzz target is: a function that turns a fuzzer's bytes into decisions, lets the tested code live through
// them, and ends the process when something does not hold that should. Whatever the bytes are, a target does the
// same each time it is given them. Knows no target and no fuzzer. One thread.
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

// The bytes, taken off the front. When there are no more, everything is 0.
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

    // 0 .. count - 1, of one byte.   1 <= count <= 256
    [[nodiscard]] std::uint32_t below(std::uint32_t count) noexcept { return byte() % count; }

    // At most so many, fewer when there are no more.
    [[nodiscard]] std::vector<std::byte> bytes(std::size_t count) {
        const auto taken = rest_.first(std::min(count, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return {taken.begin(), taken.end()};
    }

    // A piece whose length is said in front of it, in two bytes.
    [[nodiscard]] std::vector<std::byte> piece() { return bytes(take<std::uint16_t>()); }

    // All that is left.
    [[nodiscard]] std::string_view text() noexcept {
        const std::string_view all(reinterpret_cast<const char*>(rest_.data()), rest_.size());
        rest_ = {};
        return all;
    }

private:
    std::span<const std::byte> rest_;
};

// Ends the process, which is how a fuzzer learns of it, unless the condition holds.
//   what  does not hold then
inline void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "fuzz: broken promise: %s\n", what);
    std::abort();
}

// The target. Defined once per program.
void run(Input& input);

}  // namespace acp::fuzz
