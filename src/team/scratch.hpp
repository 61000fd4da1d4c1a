// SPDX-License-Identifier: BSD-3-Clause
// Memory of a team for data that a call has received and not combined yet. Aligned to 64 bytes;
// grows, and is kept until the team is freed.
// For the one thread that is in a call on the team. Tests: tests/unit/team/scratch_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace acp::team {

class Scratch {
public:
    // Returns `bytes` bytes of any content, valid until the next call. Throws std::bad_alloc.
    [[nodiscard]] char* take(std::uint64_t bytes) {
        const std::uint64_t lines = (bytes + sizeof(Line) - 1) / sizeof(Line);
        if (lines > lines_.size()) {
            lines_ = {};
            lines_.resize(lines);
        }
        return reinterpret_cast<char*>(lines_.data());
    }

private:
    struct alignas(64) Line {
        std::array<std::byte, 64> bytes;
    };

    std::vector<Line> lines_;
};

}  // namespace acp::team
