// SPDX-License-Identifier: BSD-3-Clause
// Reads the word of another process.
#include "team/meeting_watch.hpp"

#include <cstddef>

#include "data/ask.hpp"
#include "os/process.hpp"
#include "team/meeting_mark.hpp"

namespace acp::team {

std::string MeetingWatch::look(std::uint32_t process, std::uint64_t now_ns) {
    // Before the word is read: a thread that has joined the member's call in the meantime may have
    // ended.
    const bool has_other_threads = !os::is_last_thread();
    const memory::GlobalAddress at =
        gma_.space().claimed_address(process, world_board) + offsetof(BoardBlock, meeting);
    BoardMeeting meeting;
    std::uint64_t word = 0;
    if (data::get(gma_, &meeting, at, sizeof meeting).is_ok())
        word = meeting.word.load(std::memory_order_relaxed);
    const ShownMeeting shown(word);
    const bool is_in_vain = shown.is_in_call() && shown.keeps_waiting(has_other_threads);
    if (process != process_ || word != word_ || !is_in_vain) {
        process_ = process;
        word_ = word;
        since_ns_ = now_ns;
    }
    const bool is_certain = is_in_vain && now_ns - since_ns_ >= patience_ns;
    return is_certain ? meeting.call.load() : std::string();
}

}  // namespace acp::team
