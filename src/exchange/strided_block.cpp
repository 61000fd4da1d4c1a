// SPDX-License-Identifier: BSD-3-Clause
// Joins contiguous runs. Any thread.
#include "exchange/strided_block.hpp"

namespace acp::exchange {

StridedBlock::StridedBlock(std::uint64_t run_bytes, std::span<const Axis> axes)
    : run_bytes_(run_bytes) {
    bool is_run = true;  // true while all axes so far are part of the run
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        if (axis->count == 1) continue;
        if (is_run && axis->stride_bytes == run_bytes_) {
            run_bytes_ *= axis->count;
            continue;
        }
        is_run = false;
        runs_ *= axis->count;
        axes_.insert(axes_.begin(), *axis);
    }
    if (run_bytes_ == 0) runs_ = 0;
}

}  // namespace acp::exchange
