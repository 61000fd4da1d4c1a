// SPDX-License-Identifier: BSD-3-Clause
// Reads the word of another process.
#include "team/meeting_watch.hpp"

#include <cstddef>

#include "data/ask.hpp"
#include "os/process.hpp"
#include "team/meeting_mark.hpp"

namespace acp::team {

node::AwaitedCall MeetingWatch::look(std::uint32_t process, std::uint64_t now_ns) {
    const memory::GlobalAddress at =
        gma_.space().claimed_address(process, world_board) + offsetof(BoardBlock, meeting);
    std::uint64_t word = 0;
    if (!data::get(gma_, &word, at, sizeof word).is_ok()) word = 0;
    if (process != process_ || word != word_) {
        process_ = process;
        word_ = word;
        since_ns_ = now_ns;
    }
    const ShownMeeting shown(word);
    if (now_ns - since_ns_ < patience_ns) return node::AwaitedCall::none;
    return shown.keeps_waiting(!os::is_last_thread()) ? shown.call() : node::AwaitedCall::none;
}

}  // namespace acp::team
