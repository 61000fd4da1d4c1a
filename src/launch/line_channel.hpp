// SPDX-License-Identifier: BSD-3-Clause
// The connection between a launcher and an agent: lines of words in both directions over one
// connected descriptor, after the launcher has sent the job's key and the launch plan. Each side
// detects by the end of the stream that the other one is gone. Knows no meaning of lines; the
// vocabulary below is documentation. One thread per side.
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
//   timeout           end all ranks; report which were still running
//   end               end all ranks soon: a rank of another node has failed
//   leave             every node has sent done
//   doings NUMBER     tell what the ranks do; the number goes into the answers, which may be late
//   listen ADDRESS... open the gateway at these; the answer to `interfaces`
//   peers BYTES       followed by that many bytes: where all nodes listen (peer_table.hpp); the
//                     agent then starts the ranks
// Agent to launcher:
//   reached                   another machine has answered, and its agent waits for key and plan
//   process PID               the agent's own, which acprun did not start; sent once
//   interfaces WORDS          the machine's addresses (interface_list.hpp), of which the launcher
//                             chooses; only in a job of several nodes whose plan names none
//   listening ADDRESS...      where this node's gateway listens; sent once, and only in a job of
//                             several nodes
//   done                      all ranks of this node have ended and their output is passed on; only
//                             in a job of several nodes
//   passed NUMBER             a signal was passed on to all ranks
//   running RANKS             in answer to timeout, as rank_ranges() writes it
//   doing NUMBER WORDS        what one rank does (node/awaited.hpp), in answer to doings, with its
//                             number, and to timeout, with 0
//   hang                      a rank has waited in one call for longer than ACP_HANG_TIMEOUT
//   told NUMBER               the last `doing` line was sent, in answer to doings
//   failed RANK PID STATUS STAGE UNJOINED OWN_END UNMAPPED FIBER PROCESS
//                             a rank failed; STATUS as waitpid reports it, STAGE the SlotState in
//                             which it ended, UNJOINED the ranks that had ended before without
//                             acp_init; then own_end and unmapped_rank_plus_1 and runs_on_fiber of
//                             its slot, and its rank at the start
//   unstarted RANK ERRNO      the program could not be run
//   unjoined RANK PID         a rank ended without an error and without acp_init
//   note TEXT                 for the user
//   error CODE TEXT           the job cannot go on; CODE is the launcher's exit code
//   ended CODE FAILED KILLED  all ranks have ended; the job's exit code, the number of ranks that
//                             failed, and the number that were killed because another failed
inline constexpr std::size_t channel_line_bytes_max = 65536;

class LineChannel {
public:
    // Takes a connected stream descriptor.
    explicit LineChannel(os::FileDescriptor stream);

    // Sends the job's key, which must be sent first. Errors: peer (the other side is gone).
    base::Status send_key(JobKey& key) const;

    // The same in place of send_key, where others may read the stream: the key as a credential of
    // this user. Errors: peer, those of seal_key (launch/munge.hpp).
    base::Status send_sealed_key(JobKey& key) const;

    // Receives what either sent; no copy stays here.
    // Errors: peer, argument (something else came), memory, those of open_sealed_key. Blocks.
    base::Result<JobKey> receive_key();

    // Sends bytes unchanged, after a line with their number. Errors: peer (the other side is gone).
    // Blocks until the other side has room.
    base::Status send_plan(std::string_view bytes) const;

    // Sends bytes between lines: the receiver gets "WORD COUNT" from next_line(), then calls
    // take_bytes().
    base::Status send_block(std::string_view word, std::string_view bytes) const;

    // Receives what send_plan sent. Errors: peer, argument (something else came, or more than 64
    // MiB). Blocks.
    base::Result<std::string> receive_plan();

    // Sends a line, which must contain no newline. If the other side is gone, receive() reports it.
    void send(std::string_view line) const noexcept;

    // Reads what has arrived; call it when fd() is readable. Blocks if nothing has arrived.
    // Errors: peer (the other side is gone; lines that arrived before can still be read).
    base::Status receive();

    // The next whole line without its newline; nullopt when none has arrived.
    std::optional<std::string> next_line();

    // The next `count` bytes unchanged; nullopt, and nothing is taken, while fewer have arrived.
    std::optional<std::string> take_bytes(std::size_t count);

    [[nodiscard]] int fd() const noexcept { return stream_.get(); }

private:
    base::Result<JobKey> receive_sealed_key();

    os::FileDescriptor stream_;
    std::string received_;
};

}  // namespace acp::launch
