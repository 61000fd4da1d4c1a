// SPDX-License-Identifier: BSD-3-Clause
// Compiles the patterns of all members of a team into the routes of each member, in one collective
// call. A member writes records of the messages it sends into a block of its heap, and all members
// gather how many records each receiver gets. A receiver fetches its records, matches them with the
// receives of its own pattern, and writes the addresses of its landing areas to its senders on
// other nodes. A last gather makes the outcome the same on all members: every member has a plan, or
// none has.
// Used by the one thread that is in the call. Tests: tests/conformance/exchange_test.cpp.
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
    //   sent    the pattern's messages that this member sends, in the order they were added
    //   layout  the layout of `sent`
    //   rails   how many rails connect the nodes, and the network that the layout's order is for
    //   all arguments must outlive this
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

    // Returns the routes, if every member could make its own. Errors: mismatch, argument, address,
    // memory, unsupported, peer; and those that break the team. Throws std::bad_alloc, which breaks
    // the team.
    //   own  a failure of the caller: then no member gets a plan, and each learns which one failed
    base::Result<PlanRoutes> compile(base::Status own);

private:
    // The first gather: one of each member.
    struct Summary {
        std::uint64_t code = 0;
        GlobalAddress block = 0;
        std::uint64_t entries = 0;
        std::uint64_t offers = 0;  // RailOffers::parcels.size()
        std::uint64_t rails = 1;   // RailOffers::rails
    };

    // The second gather: one for each receiver of a member.
    struct Entry {
        std::uint32_t receiver = 0;
        std::uint32_t messages = 0;
        std::uint32_t parcels = 0;
        std::uint32_t line = 0;
        GlobalAddress records = 0;
        std::uint64_t landing_bytes = 0;
    };

    // A member that the caller receives from.
    struct Sender {
        std::uint32_t rank = 0;
        Entry entry;
        std::vector<MessageRecord> records;
        std::uint64_t words = 0;    // offset in the landing block
        std::uint64_t landing = 0;  // offset in the landing block
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
    std::uint64_t records_ = 0;  // offset in the block
    std::uint64_t outbox_ = 0;   // offset in the block of the outbox for even rounds
    GlobalAddress block_ = 0;
    GlobalAddress landing_ = 0;
    std::vector<Summary> summaries_;
    std::vector<Sender> senders_;
    // receives, keyed by the sender's rank
    std::map<std::uint32_t, std::vector<const PatternMessage*>> awaited_;
    std::vector<std::uint32_t> rail_of_;  // indexed by parcel
    PlanRoutes routes_;
};

}  // namespace acp::execution
