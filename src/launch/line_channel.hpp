// SPDX-License-Identifier: BSD-3-Clause
// The talk between a launcher and an agent: lines of words in both directions over one connected
// descriptor, after the launcher has sent the job's key and the launch plan. The end of the stream tells each side that the
// other is gone. Knows no line's meaning, but for the vocabulary below. One thread per side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

#include "launch/job_key.hpp"

namespace acp::launch {

// Launcher to agent:
//   signal NUMBER     pass a signal on to all ranks
//   kill              end all ranks at once
//   timeout           end all ranks; say which were still running
//   end               end all ranks soon: one of another node has failed
//   leave             every node has said done
//   peers BYTES       followed by so many bytes: where all nodes listen (peer_table.hpp); ranks are started then
// Agent to launcher:
//   reached                   another machine has answered, and its agent awaits key and plan
//   listening ADDRESS...      where this node's gateway listens; sent once, and only in a job of several nodes
//   done                      all ranks of this node are gone and their output is passed on; only among several
//   passed NUMBER             a signal was passed on to all ranks
//   running RANKS             in answer to timeout, as rank_ranges() writes it
//   doing NUMBERS             what one rank does (node/awaited.hpp), in answer to doings and timeout
//   told                      that was the last of them, in answer to doings
//   failed RANK PID STATUS STAGE UNJOINED OWN_END UNMAPPED PROCESS
//                             a rank ended as it should not; STATUS as waitpid gives it, STAGE the
//                             SlotState it ended in, UNJOINED ranks that had ended before without acp_init;
//                             then own_end and unmapped_rank_plus_1 of its slot, and its rank at the start
//   unstarted RANK ERRNO      the program could not be run
//   unjoined RANKS            ended well and without acp_init, in a job of several nodes
//   note TEXT                 for the user
//   error CODE TEXT           the job cannot go on; CODE is the launcher's exit code
//   ended CODE FAILED KILLED  all ranks are gone; the job's exit code, ranks that failed, ranks that were
//                             ended because another failed
inline constexpr std::size_t channel_line_bytes_max = 65536;

class LineChannel {
public:
    // Takes a connected stream descriptor.
    explicit LineChannel(os::FileDescriptor stream);

    // The job's key: the first that is sent. Errors: peer (the other side is gone).
    base::Status send_key(JobKey& key) const;

    // What send_key sent; no copy stays here. Errors: peer, argument (something else came), memory. Blocks.
    base::Result<JobKey> receive_key();

    // Sends bytes as they are, after a line that says how many. Errors: peer (the other side is gone).
    // Blocks until the other side has room.
    base::Status send_plan(std::string_view bytes) const;

    // The same under another word, for the middle of a talk: next_line() gives "WORD COUNT", then take_bytes().
    base::Status send_block(std::string_view word, std::string_view bytes) const;

    // What send_plan sent. Errors: peer, argument (something else came, or more than 64 MiB). Blocks.
    base::Result<std::string> receive_plan();

    // Sends a line; words come without newlines. A side that is gone is noticed by receive().
    void send(std::string_view line) const noexcept;

    // Takes what has arrived, to be called when fd() is readable. Blocks when nothing has.
    // Errors: peer (the other side is gone; lines that came before are still there).
    base::Status receive();

    // The next whole line without its end; nullopt when none is there.
    std::optional<std::string> next_line();

    // The next `count` bytes as they are; nullopt, and nothing taken, while fewer have arrived.
    std::optional<std::string> take_bytes(std::size_t count);

    [[nodiscard]] int fd() const noexcept { return stream_.get(); }

private:
    os::FileDescriptor stream_;
    std::string received_;
};

}  // namespace acp::launch
