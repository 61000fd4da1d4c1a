// SPDX-License-Identifier: BSD-3-Clause
// Copies whose source this process reaches: it moves them itself, or sends the bytes to the process
// that places them, in one message where they fit one, else in pieces. The copies to one receiver
// take turns, a piece each; a receiver without room delays no other receiver. The driver only.
// Tests: tests/unit/mailbox/forwarder_copies_test.cpp.
#pragma once

#include <cstdint>

#include "mailbox/forwarder_commands.hpp"
#include "mailbox/forwarder_devices.hpp"
#include "mailbox/forwarder_ends.hpp"
#include "mailbox/forwarder_memory.hpp"
#include "mailbox/forwarder_queues.hpp"

namespace acp::mailbox {

class ForwarderCopies {
public:
    //   the arguments must outlive this
    ForwarderCopies(ForwarderMemory& memory,
                    ForwarderQueues& queues,
                    ForwarderCommands& commands,
                    ForwarderEnds& ends,
                    ForwarderDevices& devices) noexcept
        : memory_(memory), queues_(queues), commands_(commands), ends_(ends), devices_(devices) {}

    // Sends a copy to the process that places its bytes: at once if it fits one message for which
    // there is room, else in pieces, turn by turn. Takes one item at most (forwarder_queues.hpp).
    // Call while a Naming of the source lives.
    //   source  where copy.source lies; this process must reach it
    void send(std::uint32_t receiver, const PieceCopy& copy, const local::Place& source);

    // Queues a copy within this process, which polls then move, move_bytes_max at a time. Takes one
    // item.
    void move_in_turns(const PieceCopy& copy) { queues_.add_copy(memory_.own_slot(), copy); }

    // Runs an atomic on a word of memory of a device of this process, or a request on one of its
    // registers. Takes one item at most. Call while a Naming of the word lives.
    //   token, origin  of the command, whose initiator gets the old value
    void run_on_device(const memory::Command& command,
                       const local::Place& word,
                       std::uint64_t token,
                       std::uint32_t origin);

    // Reports the results of messages whose bytes a device has taken, as long as there are items
    // for them. Returns their number.
    std::uint32_t report_placed();

    // One round for all receivers: messages that waited, then pieces. Returns the number of
    // messages and pieces sent or moved.
    std::uint32_t send_waiting() { return queues_.is_empty() ? 0 : send_to_all(); }

    // Call after ForwarderQueues::note_death(): fails copies to that process with Code::peer, and
    // drops copies that it initiated.
    void on_death(std::uint32_t dead_slot);

private:
    // The outcome of one step of a copy.
    enum class CopyTurn {
        blocked,   // there was no room for a piece
        waiting,   // its device has not ended the present step: other copies have their turn
        advanced,  // one piece was sent, and more remain
        sent,      // the last piece was sent; the process that places it reports to the initiator
        ended      // the copy completed or failed here; this process must report to the initiator
    };

    std::uint32_t send_to_all();
    std::uint32_t send_pieces(std::uint32_t receiver);
    CopyTurn step(std::uint32_t receiver, PieceCopy& copy, AccessVerdict& verdict);
    CopyTurn move_piece(PieceCopy& copy, const local::Place& target, const local::Place& source);
    CopyTurn send_piece(std::uint32_t receiver,
                        PieceCopy& copy,
                        const local::Place& source,
                        AccessVerdict& verdict);
    CopyTurn step_on_device(PieceCopy& copy,
                            const local::Place& target,
                            const local::Place& source,
                            AccessVerdict& verdict);

    ForwarderMemory& memory_;
    ForwarderQueues& queues_;
    ForwarderCommands& commands_;
    ForwarderEnds& ends_;
    ForwarderDevices& devices_;
};

}  // namespace acp::mailbox
