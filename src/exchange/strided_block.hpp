// SPDX-License-Identifier: BSD-3-Clause
// Bytes of an array that are not contiguous: runs of equal length at regular distances, in any
// number of dimensions; and copies of them from and to contiguous memory. Pure; any thread.
// Tests: tests/unit/exchange/strided_block_test.cpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace acp::exchange {

class StridedBlock {
public:
    // One dimension.
    struct Axis {
        std::uint64_t count = 0;
        std::uint64_t stride_bytes = 0;
    };

    //   run_bytes  the length of a contiguous run
    //   axes       of the runs, the outermost first; strides are not negative
    StridedBlock(std::uint64_t run_bytes, std::span<const Axis> axes);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return run_bytes_ * runs_; }

    [[nodiscard]] bool is_contiguous() const noexcept { return axes_.empty(); }

    [[nodiscard]] std::uint64_t run_bytes() const noexcept { return run_bytes_; }

    // Calls call(offset) with the offset of each run, in order.
    template <typename Call>
    void for_each_run(const Call& call) const {
        if (runs_ != 0) walk(0, 0, call);
    }

    // pack() copies the bytes() bytes of the block at `start` to contiguous memory, unpack() copies
    // them back.
    void pack(char* target, const char* start) const noexcept {
        for_each_run([&](std::uint64_t offset) {
            std::memcpy(target, start + offset, run_bytes_);
            target += run_bytes_;
        });
    }

    void unpack(char* start, const char* source) const noexcept {
        for_each_run([&](std::uint64_t offset) {
            std::memcpy(start + offset, source, run_bytes_);
            source += run_bytes_;
        });
    }

private:
    template <typename Call>
    void walk(std::size_t axis, std::uint64_t offset, const Call& call) const {
        if (axis == axes_.size()) return call(offset);
        for (std::uint64_t i = 0; i < axes_[axis].count; ++i)
            walk(axis + 1, offset + i * axes_[axis].stride_bytes, call);
    }

    std::uint64_t run_bytes_;
    std::uint64_t runs_ = 1;
    // Each has more than one run, and none continues the axis inside it without a gap.
    std::vector<Axis> axes_;
};

}  // namespace acp::exchange
