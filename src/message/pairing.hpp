// SPDX-License-Identifier: BSD-3-Clause
// How the two ends of a channel or a segmented buffer find each other, whoever comes first, and without the other rank's help. Each rank
// that receives has a map in its heap, with an entry for each end that has not yet met its partner. An end adds its own entry and then looks
// for the other one's: of two that come at the same time at least one finds the other. Whoever removes an entry that is not its own has met
// that end, and writes to its letter (introduction.hpp). An end that could not be made removes its own entry; if that is gone it has met its
// partner after all. A partner whose entry was removed, and whose letter could not be written, is kept for the next end of the name.
// The map is made by the first rank that needs it, and is found by a word of a range that this layer claims for each process
// (node/claims.hpp). One for each epoch. Any thread; blocks where other nodes are asked.
// Tests: tests/conformance/channel_test.cpp, segbuf_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "base/status.hpp"
#include "data/hashed.hpp"
#include "gma/gma.hpp"
#include "message/introduction.hpp"

namespace acp::message {

enum class Side : std::uint16_t { sender, receiver };

[[nodiscard]] constexpr Side other(Side side) noexcept {
    return side == Side::sender ? Side::receiver : Side::sender;
}

// Ends meet those of the same kind: of the program's channels, of its segmented buffers, of the channels of teams.
enum class EndKind : std::uint16_t { channel, segbuf, team };

// Which channel or segmented buffer: the `number`-th of its kind that its two processes have made, or that of team `number`.
struct ChannelName {
    std::uint32_t sender = 0;  // processes, by their index in the job
    std::uint32_t receiver = 0;
    std::uint64_t number = 0;
    EndKind kind = EndKind::channel;

    friend bool operator==(const ChannelName&, const ChannelName&) = default;

    friend bool operator<(const ChannelName& one, const ChannelName& two) noexcept {
        return std::tie(one.sender, one.receiver, one.number, one.kind) <
               std::tie(two.sender, two.receiver, two.number, two.kind);
    }
};

class Pairing {
public:
    //   both outlive this
    Pairing(gma::Gma& gma, data::Hashed& hashed) noexcept : gma_(gma), hashed_(hashed) {}

    ~Pairing() = default;
    Pairing(const Pairing&) = delete;
    Pairing& operator=(const Pairing&) = delete;

    // Empties the word of a process before an epoch begins.
    static void clear(const node::Segment& segment, std::uint32_t slot) noexcept;

    // Adds the entry of an end, and looks for its partner's. nullopt: the partner will write to own.letter, or has done so.
    // Errors: memory, unsupported, peer; then no partner has met the end.
    //   is_known  becomes whether others may know of the end, so that it is to be withdrawn before its letter may go
    base::Result<std::optional<Introduction>> match(const ChannelName& name,
                                                    Side side,
                                                    const Introduction& own,
                                                    bool& is_known);

    // Removes the entry of an end. false: there is none, for the partner has it, and writes to the letter. Errors: peer, memory.
    base::Result<bool> withdraw(const ChannelName& name, Side side);

private:
    enum class Encounter : std::uint8_t {
        met,       // the partner was told, and the introduction is its own
        awaited,   // the partner was not there, or was first
        withdrawn  // the partner was there, and has withdrawn
    };

    using EndName = std::pair<ChannelName, Side>;

    base::Status add(const ChannelName& name, Side side, const Introduction& own);
    base::Result<Encounter> look_for_partner(const ChannelName& name,
                                             Side side,
                                             const Introduction& own,
                                             Introduction& partner);
    base::Result<Encounter> take(const EndName& end, Introduction& partner);
    void forget_taken(const EndName& end) noexcept;
    base::Result<data::ContainerName> map_of(std::uint32_t process);
    base::Result<data::ContainerName> make_map(std::uint32_t process, GlobalAddress word);
    base::Status write(const Introduction& own, GlobalAddress letter);

    gma::Gma& gma_;
    data::Hashed& hashed_;
    std::mutex mutex_;
    std::map<std::uint32_t, data::ContainerName> maps_;  // by process, those that were found
    std::map<EndName, Introduction> taken_;  // whose entry is gone, and who was not told
};

}  // namespace acp::message
