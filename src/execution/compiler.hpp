// SPDX-License-Identifier: BSD-3-Clause
// Compiling the patterns of all members of a team into the routes of each: one collective call. A member puts what it sends as records into
// a block of its heap and says to all how many records are for whom; receivers fetch theirs, check them against what they expect, and write
// to the senders of other nodes where things are to go. Then all say whether they have all they need: all have a plan, or nobody has.
// For the one thread that is in the call. Tests: tests/conformance/exchange_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"
#include "team/team.hpp"

#include "execution/pattern.hpp"
#include "execution/rail_agreement.hpp"
#include "execution/routes.hpp"
#include "execution/send_layout.hpp"

namespace acp::execution {

class Compiler {
public:
    //   sent    those of the pattern's messages that are sent, in the order added
    //   layout  of these
    //   rails   how the nodes are connected, and for what network the order of the layout is planned
    //   all outlive this
    Compiler(gma::Gma& gma,
             data::Allocator& allocator,
             team::Team& team,
             const Pattern& pattern,
             std::span<const PatternMessage* const> sent,
             const SendLayout& layout,
             const RailUse& rails) noexcept
        : gma_(gma),
          allocator_(allocator),
          team_(team),
          pattern_(pattern),
          sent_(sent),
          layout_(layout),
          rails_(rails) {}

    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;
    ~Compiler() = default;

    //   own  a failure of the caller, which all are told
    // The routes, where all members have theirs. Errors: mismatch, argument, address, memory, unsupported, peer; and what breaks the team.
    // Throws std::bad_alloc, which breaks the team.
    base::Result<PlanRoutes> compile(base::Status own);

private:
    // What each member tells all.
    struct Summary {
        std::uint64_t code = 0;
        GlobalAddress block = 0;
        std::uint64_t entries = 0;
        std::uint64_t offers = 0;  // RailOffers: how many parcels
        std::uint64_t rails = 1;   // likewise
    };

    // And of each member that it sends to.
    struct Entry {
        std::uint32_t receiver = 0;
        std::uint32_t messages = 0;
        std::uint32_t parcels = 0;
        std::uint32_t line = 0;
        GlobalAddress records = 0;
        std::uint64_t landing_bytes = 0;
    };

    // What the caller receives from one member.
    struct Sender {
        std::uint32_t rank = 0;
        Entry entry;
        std::vector<MessageRecord> records;
        std::uint64_t words = 0;    // where in the landing block
        std::uint64_t landing = 0;  // likewise
    };

    base::Status make_block();
    void write_records();
    bool exchange_entries();
    bool agree_on_rails(const RailOffers& own);
    void find_senders(std::uint32_t rank, std::span<const Entry> entries);
    base::Status accept_all();
    base::Status fetch_records(Sender& sender);
    base::Status match(const Sender& sender, IncomingRoute& incoming);
    [[nodiscard]] base::Result<char*> target_of(const MessageRecord& record) const;
    [[nodiscard]] base::Status check_unmatched() const;
    [[nodiscard]] base::Status check_overlaps() const;
    base::Status make_landing();
    base::Status reply(const Sender& sender);
    [[nodiscard]] base::Status agreed(base::Status own, std::span<const std::uint64_t> codes) const;
    void finish_outgoing();
    void finish_parcels();
    void finish_incoming(const Sender& sender, IncomingRoute& incoming);
    Partner& partner(std::uint32_t rank);
    void drop() noexcept;

    [[nodiscard]] bool is_near(std::uint32_t rank) const noexcept {
        return gma_.space().is_on_node(team_.members().process(rank));
    }

    [[nodiscard]] std::string name_of(std::uint32_t rank) const;

    gma::Gma& gma_;
    data::Allocator& allocator_;
    team::Team& team_;
    const Pattern& pattern_;
    std::span<const PatternMessage* const> sent_;
    const SendLayout& layout_;
    RailUse rails_;
    std::uint64_t records_ = 0;  // where in the block
    std::uint64_t outbox_ = 0;   // likewise, of even rounds
    GlobalAddress block_ = 0;
    GlobalAddress landing_ = 0;
    std::vector<Summary> summaries_;
    std::vector<Sender> senders_;
    std::map<std::uint32_t, std::vector<const PatternMessage*>> awaited_;  // receives, by rank
    std::vector<std::uint32_t> rail_of_;                                   // by parcel
    PlanRoutes routes_;
};

}  // namespace acp::execution
