// SPDX-License-Identifier: BSD-3-Clause
// The invokes of one process that its own gateway has under way, with room for the result of each. An invoke has the place
// that remote::invoke_place() gives its token, from open() until close(), which comes when its end has been handed to the
// process: until then no other invoke may write a result there. One thread.
// Tests: tests/unit/gateway/invoke_results_test.cpp, and own gateways by tests/unit/remote/link_conformance.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "remote/link.hpp"

namespace acp::gateway {

class InvokeResults {
public:
    // Takes the memory for all results: a process that has none left later can still call, and tell others so. Throws std::bad_alloc.
    InvokeResults() : rooms_(new std::byte[rooms_bytes]) {}

    // Gives the invoke of a token its place. False: another one has it.
    [[nodiscard]] bool open(std::uint64_t token) noexcept {
        std::uint64_t& place = tokens_[remote::invoke_place(token)];
        if (place != 0) return false;
        place = token;
        ++count_;
        return true;
    }

    // Whether the invoke of this token has its place.
    [[nodiscard]] bool has(std::uint64_t token) const noexcept {
        return count_ != 0 && tokens_[remote::invoke_place(token)] == token;
    }

    // Gives the place back.   has(token)
    void close(std::uint64_t token) noexcept {
        tokens_[remote::invoke_place(token)] = 0;
        --count_;
    }

    //   has(token)   result  at most memory::invoke_bytes_max
    void put(std::uint64_t token, std::span<const std::byte> result) noexcept {
        if (!result.empty()) std::memcpy(room(token), result.data(), result.size());
    }

    //   has(token)
    [[nodiscard]] const std::byte* result(std::uint64_t token) const noexcept {
        return room(token);
    }

    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }

private:
    [[nodiscard]] std::byte* room(std::uint64_t token) const noexcept {
        return rooms_.get() + std::size_t{remote::invoke_place(token)} * memory::invoke_bytes_max;
    }

    static constexpr std::size_t rooms_bytes =
        std::size_t{remote::invokes_max} * memory::invoke_bytes_max;

    std::array<std::uint64_t, remote::invokes_max> tokens_{};  // by place; 0: free
    std::uint32_t count_ = 0;
    std::unique_ptr<std::byte[]>
        rooms_;  // by place; written to, and so in memory, as far as it is used
};

}  // namespace acp::gateway
