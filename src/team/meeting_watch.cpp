// SPDX-License-Identifier: BSD-3-Clause
// Reads the word of another process.
#include "team/meeting_watch.hpp"

#include <cstddef>

#include "data/ask.hpp"
#include "os/process.hpp"
#include "team/meeting_mark.hpp"

namespace acp::team {

std::string MeetingWatch::look(std::uint32_t process, std::uint64_t now_ns) {
    const memory::GlobalAddress at =
        gma_.space().claimed_address(process, world_board) + offsetof(BoardBlock, meeting);
    BoardMeeting meeting;
    std::uint64_t word = 0;
    if (data::get(gma_, &meeting, at, sizeof meeting).is_ok())
        word = meeting.word.load(std::memory_order_relaxed);
    if (process != process_ || word != word_) {
        process_ = process;
        word_ = word;
        since_ns_ = now_ns;
    }
    const ShownMeeting shown(word);
    const bool is_certain = shown.is_in_call() && now_ns - since_ns_ >= patience_ns &&
                            shown.keeps_waiting(!os::is_last_thread());
    return is_certain ? meeting.call.load() : std::string();
}

}  // namespace acp::team
