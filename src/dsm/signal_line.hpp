// SPDX-License-Identifier: BSD-3-Clause
// A line "acp: ..." made of pieces, cut after 256 bytes, for a signal handler: allocates nothing and
// calls only functions that are async-signal-safe. One thread.
// Tests: tests/conformance/dsm_children_test.cpp, tests/unit/dsm/fault_service_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "os/log_line.hpp"
#include "os/standard_streams.hpp"

namespace acp::dsm {

class SignalLine {
public:
    SignalLine& operator<<(const char* text) noexcept {
        for (; *text != '\0' && used_ < text_.size(); ++text) text_[used_++] = *text;
        return *this;
    }

    SignalLine& operator<<(std::uint64_t value) noexcept {
        std::array<char, 21> digits{};
        char* at = digits.data() + digits.size() - 1;
        do {
            *--at = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value != 0);
        return *this << at;
    }

    SignalLine& operator<<(const void* address) noexcept {
        std::array<char, 17> digits{};
        char* at = digits.data() + digits.size() - 1;
        auto value = reinterpret_cast<std::uintptr_t>(address);
        do {
            *--at = "0123456789abcdef"[value % 16];
            value /= 16;
        } while (value != 0);
        return *this << "0x" << at;
    }

    // To the standard error.
    void write() const noexcept { os::write_line(os::standard_error, {text_.data(), used_}); }

private:
    std::array<char, 256> text_{};
    std::size_t used_ = 0;
};

}  // namespace acp::dsm
