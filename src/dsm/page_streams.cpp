// SPDX-License-Identifier: BSD-3-Clause
// Streams that continue, and the history in which they begin.
#include "dsm/page_streams.hpp"

#include <algorithm>
#include <bit>

#include "base/random.hpp"

namespace acp::dsm {

namespace {

using Unit = PageStreams::Unit;

constexpr std::uint64_t window_with_sentinel_min = 4;

std::uint64_t length_of(std::int64_t difference) noexcept {
    return static_cast<std::uint64_t>(difference < 0 ? -difference : difference);
}

// The unit that lies `steps` strides behind another one, modulo 2^64.
Unit behind(Unit unit, std::int64_t stride, std::uint64_t steps) noexcept {
    return unit + static_cast<std::uint64_t>(stride) * steps;
}

// Units from `first` on, at the stride, that the window has.
std::uint64_t units_left(Unit first, std::int64_t stride, std::uint64_t units) noexcept {
    if (first >= units) return 0;
    return (stride < 0 ? first : units - 1 - first) / length_of(stride) + 1;
}

}  // namespace

struct PageStreams::Stream {
    Unit at = 0;               // the unit of its last fault
    std::int64_t stride = 0;   // 0: none, and never of a stream
    std::uint64_t ahead = 0;   // units behind `at` that its windows have
    std::uint64_t window = 0;  // units of its last window

    [[nodiscard]] std::uint64_t packed() const noexcept {
        return at | std::uint64_t{static_cast<std::uint16_t>(stride)} << 32 | ahead << 48 |
               static_cast<std::uint64_t>(std::bit_width(window)) << 56;
    }

    [[nodiscard]] static Stream unpacked(std::uint64_t word) noexcept {
        const std::uint64_t width = word >> 56;
        return {word & 0xffffffff,
                static_cast<std::int16_t>(static_cast<std::uint16_t>(word >> 32)),
                word >> 48 & 0xff, width == 0 ? 0 : std::uint64_t{1} << (width - 1)};
    }
};

PageStreams::PageStreams(const MappedPages<>& mapped, std::uint64_t unit_pages) noexcept
    : mapped_(mapped),
      unit_pages_(unit_pages),
      units_((mapped.pages() + unit_pages - 1) / unit_pages) {}

StreamWindow PageStreams::on_fault(pages::PageNumber page, std::uint64_t ahead_max) noexcept {
    const Unit unit = page / unit_pages_;
    for (std::atomic<std::uint64_t>& word : streams_) {
        std::uint64_t seen = word.load(std::memory_order_relaxed);
        if (seen == 0) continue;
        Stream stream = Stream::unpacked(seen);
        const std::uint64_t steps = steps_to(stream, unit);
        if (steps == 0) continue;
        stream.ahead -= std::min(steps, stream.ahead);
        StreamWindow window = open_window(unit, ahead_max, stream);
        window.used = steps - 1;
        const bool is_mine = word.compare_exchange_strong(
            seen, stream.packed(), std::memory_order_relaxed, std::memory_order_relaxed);
        return is_mine ? window : StreamWindow();
    }
    return begin_stream(unit, ahead_max);
}

// From the stream's last fault to a unit that continues it; else 0.
std::uint64_t PageStreams::steps_to(const Stream& stream, Unit unit) const noexcept {
    const auto difference = static_cast<std::int64_t>(unit - stream.at);
    const std::uint64_t stride = length_of(stream.stride);
    const std::uint64_t steps = length_of(difference) / stride;
    const bool is_on_way = steps != 0 && (difference < 0) == (stream.stride < 0) &&
                           steps * stride == length_of(difference) &&
                           steps <= stream.ahead + mapped_beside_max;
    return is_on_way && is_way_mapped(stream.at, stream.stride, steps) ? steps : 0;
}

// Returns whether the units at fewer than `steps` strides from one of them are mapped.
bool PageStreams::is_way_mapped(Unit from,
                                std::int64_t stride,
                                std::uint64_t steps) const noexcept {
    for (std::uint64_t i = 1; i < steps; ++i) {
        if (!is_mapped(behind(from, stride, i))) return false;
    }
    return true;
}

// Changes the stream to one whose last fault is on this unit.
StreamWindow PageStreams::open_window(Unit unit,
                                      std::uint64_t ahead_max,
                                      Stream& stream) const noexcept {
    StreamWindow window;
    window.stride = stream.stride;
    window.first = behind(unit, stream.stride, stream.ahead + 1);
    const std::uint64_t units_max = std::min(window_pages_max, ahead_max) / unit_pages_;
    const std::uint64_t window_max =
        length_of(stream.stride) == 1 ? units_max : std::min(units_max, scattered_max);
    stream.window = std::min(std::max(2 * stream.window, std::uint64_t{1}), window_max);
    window.count = std::min(stream.window, units_left(window.first, stream.stride, units_));
    if (window.count >= window_with_sentinel_min) {
        const std::uint64_t half = window.count / 2;
        window.sentinel = window.at(half + base::mix64(window.first) % (window.count - half));
    }
    stream.at = unit;
    stream.ahead += window.count;
    return window;
}

// A fault that continues no stream.
StreamWindow PageStreams::begin_stream(Unit unit, std::uint64_t ahead_max) noexcept {
    StreamWindow window;
    if (const std::int64_t stride = stride_to(unit); stride != 0) {
        Stream stream{unit, stride, 0, 0};
        window = open_window(unit, ahead_max, stream);
        streams_[next_stream_.fetch_add(1, std::memory_order_relaxed) % streams_max].store(
            stream.packed(), std::memory_order_relaxed);
    }
    history_[next_fault_.fetch_add(1, std::memory_order_relaxed) % history_max].store(
        static_cast<std::uint32_t>(unit + 1), std::memory_order_relaxed);
    return window;
}

// The stride of the last faults that lead to this one; else 0.
std::int64_t PageStreams::stride_to(Unit unit) const noexcept {
    std::array<Unit, history_max> last;  // NOLINT: written as far as read; the newest one first
    std::size_t count = 0;
    const std::uint32_t next = next_fault_.load(std::memory_order_relaxed);
    for (std::uint32_t back = 1; back <= history_max; ++back) {
        const std::uint32_t seen =
            history_[(next - back) % history_max].load(std::memory_order_relaxed);
        if (seen != 0) last[count++] = Unit{seen} - 1;
    }
    const std::span<const Unit> faults(last.data(), count);
    for (const std::int64_t direction : {1, -1}) {
        if (is_end_of_row(unit, direction, faults)) return direction;
    }
    for (auto before = faults.begin(); before != faults.end(); ++before) {
        const auto stride = static_cast<std::int64_t>(unit - *before);
        if (length_of(stride) - 1 >= stride_max) continue;  // 0, too
        auto at = before;
        for (std::uint64_t steps = 2; steps <= 3 && at != faults.end(); ++steps)
            at = std::find(at, faults.end(), behind(unit, -stride, steps));
        if (at != faults.end()) return stride;
    }
    return 0;
}

// Whether two of the faults lie in one row of mapped units, which leads to this one.
bool PageStreams::is_end_of_row(Unit unit,
                                std::int64_t direction,
                                std::span<const Unit> faults) const noexcept {
    std::uint64_t nearest = mapped_beside_max + 1;
    std::uint64_t second = nearest;
    for (const Unit fault : faults) {
        const std::uint64_t steps = (unit - fault) * static_cast<std::uint64_t>(direction);
        if (steps == 0 || steps >= second || steps == nearest) continue;
        second = steps < nearest ? nearest : steps;
        nearest = std::min(nearest, steps);
    }
    // Its own unit, too, may have been dropped since the fault.
    return second <= mapped_beside_max && is_way_mapped(unit, -direction, second + 1);
}

}  // namespace acp::dsm
