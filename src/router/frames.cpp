// SPDX-License-Identifier: BSD-3-Clause
// The checks of the less frequent frames, and the names of faults.
#include "router/frames.hpp"

#include "base/status.hpp"
#include "router/meeting.hpp"
#include "router/placement.hpp"

namespace acp::router {

namespace {

constexpr std::uint8_t end_max = 2;  // memory::BlamedAddress::source

constexpr std::array<std::string_view, fault_count> fault_names = {
    "none",        "short_frame", "unknown_type", "bad_reserved",  "bad_process",
    "bad_node",    "bad_count",   "bad_code",     "bad_operation", "bad_length",
    "misdirected", "forged",      "overrun",      "contradiction", "bad_meeting"};

bool is_failure(std::uint8_t code) noexcept {
    return code != 0 && code < base::code_count;
}

}  // namespace

std::string_view name_of(Fault fault) noexcept {
    const auto index = static_cast<std::size_t>(fault);
    return index < fault_names.size() ? fault_names[index] : std::string_view("?");
}

Fault check(const CommandFrame& frame, JobShape shape) noexcept {
    if (frame.initiator >= shape.procs) return Fault::bad_process;
    if (frame.reserved != 0) return Fault::bad_reserved;
    if (!memory::is_sound(frame.operation, frame.width)) return Fault::bad_operation;
    if (frame.operation == memory::Operation::copy) {
        if (frame.width != 0) return Fault::bad_operation;
        if (frame.operand > frame.expected || (frame.operand == 0 && frame.expected != 0)) {
            return Fault::bad_length;
        }
        return Fault::none;
    }
    return Fault::none;
}

ShortFrame dead_frame(std::uint32_t process, const base::ProcessEnd& end) noexcept {
    return {FrameType::dead, end.state, 0, process,
            end.wait_status | std::uint64_t{end.process_number} << 32U};
}

base::ProcessEnd end_in(const ShortFrame& dead) noexcept {
    return {static_cast<std::uint32_t>(dead.token), static_cast<std::uint32_t>(dead.token >> 32U),
            dead.state};
}

Fault check(const ShortFrame& frame, JobShape shape) noexcept {
    if (frame.state != 0 && frame.type != FrameType::dead) return Fault::bad_reserved;
    if (frame.type == FrameType::gone || frame.type == FrameType::watch) {
        if (frame.count != 0 || frame.token != 0) return Fault::bad_reserved;
        return frame.initiator < shape.nodes ? Fault::none : Fault::bad_node;
    }
    if (frame.initiator >= shape.procs) return Fault::bad_process;
    if (frame.type == FrameType::end) return frame.count != 0 ? Fault::none : Fault::bad_count;
    if (frame.type == FrameType::after) {
        return frame.count != 0 && frame.count <= after_count_max ? Fault::none : Fault::bad_count;
    }
    if (frame.count != 0) return Fault::bad_reserved;
    if (frame.type != FrameType::dead) return Fault::none;
    const base::ProcessEnd end = end_in(frame);
    const bool is_sound = end.state < base::ProcessEnd::states_at_end &&
                          end.process_number <= base::ProcessEnd::process_number_max;
    return is_sound ? Fault::none : Fault::bad_code;
}

Fault check(const LongFrame& frame, JobShape shape) noexcept {
    if (frame.initiator >= shape.procs) return Fault::bad_process;
    if (frame.reserved != 0) return Fault::bad_reserved;
    if (frame.type == FrameType::value) {
        return frame.code_and_end == 0 ? Fault::none : Fault::bad_reserved;
    }
    if (!is_failure(frame.code_and_end & 63U)) return Fault::bad_code;
    if (frame.code_and_end >> 6U > end_max) return Fault::bad_code;
    return frame.detail < shape.procs ? Fault::none : Fault::bad_process;
}

Fault check(const RefusedFrame& frame, JobShape shape) noexcept {
    if (frame.initiator >= shape.procs) return Fault::bad_process;
    return frame.is_command > 1 || frame.reserved != 0 ? Fault::bad_reserved : Fault::none;
}

Fault check(const InvokeFrame& frame, JobShape shape) noexcept {
    if (frame.initiator >= shape.procs || frame.process >= shape.procs) return Fault::bad_process;
    if (frame.reserved != 0) return Fault::bad_reserved;
    return frame.bytes <= invoke_bytes_max ? Fault::none : Fault::bad_length;
}

Fault check(const ResultFrame& frame, JobShape shape) noexcept {
    if (frame.initiator >= shape.procs) return Fault::bad_process;
    if (frame.code >= base::code_count) return Fault::bad_code;
    if (frame.code != 0 && frame.bytes != 0) return Fault::bad_length;
    return frame.bytes <= invoke_bytes_max ? Fault::none : Fault::bad_length;
}

Fault check(const MeetFrame& frame, JobShape shape) noexcept {
    if (frame.offset == Meeting::offset_of_least) {
        const bool is_whole = frame.total == Meeting::least_words && frame.count == frame.total;
        return is_whole ? Fault::none : Fault::bad_length;
    }
    if (frame.total > shape.procs || frame.offset > frame.total ||
        frame.count > frame.total - frame.offset) {
        return Fault::bad_length;
    }
    return frame.count == 0 && frame.total != 0 ? Fault::bad_count : Fault::none;
}

}  // namespace acp::router
