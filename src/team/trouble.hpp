// SPDX-License-Identifier: BSD-3-Clause
// A failure record: the reason for which a team or a plan is broken, in the block of a member,
// where other members write it. Any thread.
// Tests: tests/unit/team/board_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace acp::team {

inline constexpr std::uint64_t trouble_text_bytes = 440;

// Writers: any other member, by tell() or, from another node, by the numbered operation put_signal;
// usually only one writes. Reader: the block's owner.
struct alignas(64) Trouble {
    std::atomic<std::uint64_t> code{0};  // a base::Code, stored after the text; 0: no failure
    std::array<char, trouble_text_bytes> text{};  // zero-terminated

    // Writes the record. Allocates no memory. The caller must ring the owner afterwards.
    void tell(std::uint64_t what, std::string_view why) noexcept {
        text[why.copy(text.data(), text.size() - 1)] = '\0';
        // seq_cst: after the text, and before the check of the bell; partner: Breakage::look()
        code.exchange(what, std::memory_order_seq_cst);
    }

    [[nodiscard]] std::string_view words() const noexcept {
        return {text.data(), ::strnlen(text.data(), text.size())};
    }
};

static_assert(sizeof(Trouble) == 448);

}  // namespace acp::team
