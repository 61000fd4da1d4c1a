// SPDX-License-Identifier: BSD-3-Clause
// Copies whose source this process reaches: sent to the process that places the bytes, or moved here; in one message
// where they fit one, else piece by piece. The copies to one receiver take turns by pieces, and what waits for room holds
// up no other receiver. The driver only.
// Tests: tests/unit/local/forwarder_copies_test.cpp.
#pragma once

#include <cstdint>

#include "local/forwarder_commands.hpp"
#include "local/forwarder_ends.hpp"
#include "local/forwarder_memory.hpp"
#include "local/forwarder_queues.hpp"

namespace acp::local {

class ForwarderCopies {
public:
    //   all must outlive this
    ForwarderCopies(ForwarderMemory& memory,
                    ForwarderQueues& queues,
                    ForwarderCommands& commands,
                    ForwarderEnds& ends) noexcept
        : memory_(memory), queues_(queues), commands_(commands), ends_(ends) {}

    // Sends a copy to the process that places its bytes: at once when it fits one message for which there is room, else
    // in turns. Takes one parcel at most (forwarder_queues.hpp). Under a Naming of the source.
    //   source  where copy.source lies, reached here
    void send(std::uint32_t receiver, const PieceCopy& copy, const Place& source);

    // Has a copy within this process moved in turns, move_bytes_max at a time. Takes one parcel.
    void move_in_turns(const PieceCopy& copy) { queues_.add_copy(memory_.own_slot(), copy); }

    // One round for all receivers: messages that waited, then pieces. Returns how many things it did.
    std::uint32_t send_waiting() { return queues_.is_empty() ? 0 : send_to_all(); }

    // After ForwarderQueues::note_death(): the copies to that process end with Code::peer, those for it are forgotten.
    void on_death(std::uint32_t dead_slot);

private:
    // What became of a copy's turn.
    enum class CopyTurn {
        blocked,   // no room for a piece
        advanced,  // a piece has left, and more are to come
        sent,      // the last piece has left: who places it tells the initiator
        ended      // here: the initiator is to be told
    };

    std::uint32_t send_to_all();
    std::uint32_t send_pieces(std::uint32_t receiver);
    CopyTurn step(std::uint32_t receiver, PieceCopy& copy, AccessVerdict& verdict);
    CopyTurn move_piece(PieceCopy& copy, const Place& target, const Place& source);
    CopyTurn send_piece(std::uint32_t receiver, PieceCopy& copy, const Place& source);

    ForwarderMemory& memory_;
    ForwarderQueues& queues_;
    ForwarderCommands& commands_;
    ForwarderEnds& ends_;
};

}  // namespace acp::local
