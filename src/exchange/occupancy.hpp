// SPDX-License-Identifier: BSD-3-Clause
// Counts the rectangles that occupy something at each time: a link, a direction, the engines for
// diagonals. One thread per object.
// Tests: tests/unit/exchange/occupancy_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace acp::exchange {

class Occupancy {
public:
    void clear() noexcept { steps_.clear(); }

    //   begin < end
    void add(double begin, double end) {
        const std::size_t first = step_at(begin);
        const std::size_t last = step_at(end);
        for (std::size_t i = first; i < last; ++i) ++steps_[i].count;
    }

    // The earliest time, from `begin` on, at which the count stays below `most` for `duration`.
    //   most  >= 1
    [[nodiscard]] double earliest(double begin, double duration, unsigned most) const {
        auto step = after(begin);
        if (step != steps_.begin()) --step;
        for (; step != steps_.end() && step->at < begin + duration - moment; ++step) {
            if (step->count >= most) begin = std::next(step)->at;  // the last step has none
        }
        return begin;
    }

private:
    struct CountFrom {
        double at;
        unsigned count;  // valid until the next step
    };

    static constexpr double moment = 1e-9;  // times closer than this are the same

    [[nodiscard]] std::vector<CountFrom>::const_iterator after(double time) const {
        return std::upper_bound(
            steps_.begin(), steps_.end(), time + moment,
            [](double value, const CountFrom& step) { return value < step.at; });
    }

    // The index of the step at that time, which is added if there is none.
    std::size_t step_at(double time) {
        const auto next = after(time);
        const auto index = static_cast<std::size_t>(next - steps_.begin());
        if (index != 0 && steps_[index - 1].at >= time - moment) return index - 1;
        steps_.insert(next, {time, index == 0 ? 0 : steps_[index - 1].count});
        return index;
    }

    std::vector<CountFrom> steps_;
};

}  // namespace acp::exchange
