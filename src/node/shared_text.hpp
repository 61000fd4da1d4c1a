// SPDX-License-Identifier: BSD-3-Clause
// A short text in shared memory, for diagnostics: one writer at a time, any number of readers in
// other processes. Each word is atomic; that a text is whole is left to the caller's seqlock. All
// zero is the empty text. Any thread. Tests: tests/unit/node/awaited_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace acp::node {

template <std::size_t words>
struct SharedText {
    static constexpr std::size_t bytes_max = words * sizeof(std::uint64_t);

    std::array<std::atomic<std::uint64_t>, words> parts;

    // Keeps the first bytes_max bytes.
    void store(std::string_view text) noexcept {
        std::array<std::uint64_t, words> copied{};
        text.copy(reinterpret_cast<char*>(copied.data()), bytes_max);
        // release: a reader that sees a part also sees what the writer stored before
        for (std::size_t i = 0; i < words; ++i)
            parts[i].store(copied[i], std::memory_order_release);
    }

    // The printable characters of the text.
    [[nodiscard]] std::string load() const {
        std::array<std::uint64_t, words> copied{};
        for (std::size_t i = 0; i < words; ++i)
            copied[i] = parts[i].load(std::memory_order_acquire);
        std::array<char, bytes_max> text{};
        std::memcpy(text.data(), copied.data(), bytes_max);
        std::string printable(text.begin(), std::find(text.begin(), text.end(), '\0'));
        std::erase_if(printable, [](char c) { return c < ' ' || c > '~'; });
        return printable;
    }
};

}  // namespace acp::node
