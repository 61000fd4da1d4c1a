// SPDX-License-Identifier: BSD-3-Clause
// How the two ends of a channel or segmented buffer find each other, in either order and without
// help from the other rank. Each receiving rank has a map in its heap, with an entry for each end
// that has not found its partner. An end adds its own entry, then looks up its partner's: of two
// concurrent ends at least one finds the other. The end that removes its partner's entry writes its
// introduction to the partner's introduction slot (introduction.hpp). An end that could not be made
// removes its own entry; if the entry is gone, the partner has found it after all. If an end has
// removed its partner's entry and cannot write to the slot, it keeps the entry for the next end of
// the name. The first rank that needs the map makes it; a word in a range that this layer claims
// for each process (node/claims.hpp) has its address. One object per epoch. Any thread; blocks
// while it waits for other nodes.
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

inline constexpr node::ClaimedRange channel_map{
    .name = "where channels find their partners",
    .bytes = [](const node::Shape&) -> std::uint64_t { return node::claim_alignment; }};

enum class Side : std::uint16_t { sender, receiver };

[[nodiscard]] constexpr Side other(Side side) noexcept {
    return side == Side::sender ? Side::receiver : Side::sender;
}

// Only ends of the same kind become partners: ends of the program's channels, of its segmented
// buffers, of channels that a layer above makes for itself.
enum class EndKind : std::uint16_t { channel, segbuf, internal };

// Names a channel or segmented buffer: the `number`-th of its kind between the two processes, or
// the internal channel that the layer above has given the number.
struct ChannelName {
    std::uint32_t sender = 0;  // process indexes
    std::uint32_t receiver = 0;
    std::uint64_t number = 0;
    EndKind kind = EndKind::channel;

    friend bool operator==(const ChannelName&, const ChannelName&) = default;

    friend bool operator<(const ChannelName& one, const ChannelName& two) noexcept {
        return std::tie(one.sender, one.receiver, one.number, one.kind) <
               std::tie(two.sender, two.receiver, two.number, two.kind);
    }
};

// Puts the partner of an end in front of a failure: "to rank 3: ...", "from rank 3: ..." for the end of a receiver. ok stays ok.
[[nodiscard]] base::Status name_partner(const node::Segment& segment,
                                        const ChannelName& name,
                                        Side side,
                                        base::Status status) noexcept;

class Pairing {
public:
    // Both arguments must outlive this.
    Pairing(gma::Gma& gma, data::Hashed& hashed) noexcept : gma_(gma), hashed_(hashed) {}

    ~Pairing() = default;
    Pairing(const Pairing&) = delete;
    Pairing& operator=(const Pairing&) = delete;

    // Clears the map's word of a process before an epoch begins.
    static void clear(const node::Segment& segment, std::uint32_t slot) noexcept;

    // Adds the entry of an end, and looks up its partner's. nullopt: the partner will write to
    // own.letter, or has done so. Errors: memory, unsupported, peer; then no partner knows the end.
    //   is_known  set to whether a partner may know the end: then withdraw() must precede the
    //             release of its introduction slot
    base::Result<std::optional<Introduction>> match(const ChannelName& name,
                                                    Side side,
                                                    const Introduction& own,
                                                    bool& is_known);

    // Removes the entry of an end. False: the partner has removed it, and writes to the
    // introduction slot. Errors: peer, memory.
    base::Result<bool> withdraw(const ChannelName& name, Side side);

private:
    enum class Encounter : std::uint8_t {
        met,       // the partner has this end's introduction, and this end the partner's
        awaited,   // the partner has no entry: it comes later, or has found this end
        withdrawn  // the partner's entry was there, but the partner has withdrawn it
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
    std::map<std::uint32_t, data::ContainerName> maps_;  // maps found so far, by process
    // entries removed by this process whose ends have no introduction yet
    std::map<EndName, Introduction> taken_;
};

}  // namespace acp::message
