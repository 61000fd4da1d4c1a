// SPDX-License-Identifier: BSD-3-Clause
// Gathers what each member sends, fetches the records, matches them with the receives, and agrees
// on success.
#include "execution/compiler.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "local/shared_memory.hpp"
#include "sync/lines.hpp"
#include "team/collectives.hpp"

namespace acp::execution {

using base::Code;
using base::Result;
using base::Status;

namespace {

// To whole cache lines.
constexpr std::uint64_t in_lines(std::uint64_t bytes) noexcept {
    return rounded_up(bytes, sync::line_bytes);
}

constexpr std::uint64_t line_offset(std::uint64_t line) noexcept {
    return sizeof(BlockHead) + line * sizeof(OutgoingLine);
}

std::uint64_t code_of(const Status& status) noexcept {
    return static_cast<std::uint64_t>(status.code());
}

// The words that a receiver writes to the OutgoingLine of a sender on another node.
struct Reply {
    GlobalAddress arrived = 0;
    GlobalAddress landing = 0;
};

static_assert(offsetof(OutgoingLine, landing) ==
              offsetof(OutgoingLine, arrived) + offsetof(Reply, landing));

template <typename Element>
const char* bytes_of(const Element& element) noexcept {
    return reinterpret_cast<const char*>(&element);
}

// One contiguous part of a received message at its target: check_overlaps() compares these.
struct Target {
    const char* begin;
    std::uint64_t bytes;
    std::size_t sender;  // index
    std::size_t message;
};

void add_targets(const TakenMessage& message,
                 std::size_t sender,
                 std::size_t number,
                 std::vector<Target>& targets) {
    if (message.block != nullptr) {
        message.block->for_each_run([&](std::uint64_t offset) {
            targets.push_back(
                {message.target + offset, message.block->run_bytes(), sender, number});
        });
    } else if (message.bytes != 0) {
        targets.push_back({message.target, message.bytes, sender, number});
    }
}

}  // namespace

std::string Compiler::name_of(std::uint32_t rank) const {
    const std::uint32_t process = team_.members().process(rank);
    return "member " + std::to_string(rank) + " (rank " +
           std::to_string(gma_.space().segment().rank_of(process)) + ")";
}

Result<PlanRoutes> Compiler::compile(Status own) {
    Status status = own.is_ok() ? make_block() : std::move(own);
    const RailOffers offers = offers_of(layout_, rails_);
    const Summary summary{code_of(status), block_, layout_.receivers.size(), offers.parcels.size(),
                          offers.rails};
    summaries_.resize(team_.members().size());
    if (!team::all_gather(team_, bytes_of(summary), reinterpret_cast<char*>(summaries_.data()),
                          sizeof summary)) {
        return team_.failure();
    }
    std::vector<std::uint64_t> codes;
    for (const Summary& each : summaries_) codes.push_back(each.code);
    status = agreed(std::move(status), codes);
    if (status.is_ok()) {
        if (!exchange_entries() || !agree_on_rails(offers)) return team_.failure();
        status = accept_all();
        const std::uint64_t code = code_of(status);
        if (!team::all_gather(team_, bytes_of(code), reinterpret_cast<char*>(codes.data()),
                              sizeof code)) {
            return team_.failure();  // other members may still use the blocks: they are not freed
        }
        status = agreed(std::move(status), codes);
    }
    if (!status.is_ok()) {
        drop();
        return status;
    }
    finish_outgoing();
    finish_parcels();
    return std::move(routes_);
}

// Returns the caller's own failure, or else the first failure among the other members.
Status Compiler::agreed(Status own, std::span<const std::uint64_t> codes) const {
    if (!own.is_ok()) return own;
    const auto failed =
        std::find_if(codes.begin(), codes.end(), [](std::uint64_t code) { return code != 0; });
    if (failed == codes.end()) return own;
    return {static_cast<Code>(*failed),
            name_of(static_cast<std::uint32_t>(failed - codes.begin())) +
                " could not make its part of the plan; its own call returns the reason"};
}

Status Compiler::make_block() {
    records_ = line_offset(layout_.receivers.size());
    outbox_ = in_lines(records_ + sent_.size() * sizeof(MessageRecord));
    const std::uint64_t bytes = outbox_ + 2 * layout_.outbox_bytes;
    auto block = allocator_.allocate(gma_.space().process(), bytes, sync::line_bytes);
    if (!block.is_ok()) return std::move(block).failure();
    block_ = block.value();
    routes_.blocks.push_back(block_);
    routes_.heap_bytes += bytes;
    routes_.head =
        reinterpret_cast<BlockHead*>(shared_pointer(gma_.space(), gma_.space().process(), block_));
    std::memset(static_cast<void*>(routes_.head), 0, records_);
    write_records();
    return {};
}

void Compiler::write_records() {
    auto* next = reinterpret_cast<MessageRecord*>(reinterpret_cast<char*>(routes_.head) + records_);
    for (const LaidReceiver& receiver : layout_.receivers) {
        for (const std::uint32_t i : receiver.messages) {
            const LaidMessage& message = layout_.messages[i];
            MessageRecord record{message.bytes, sent_[i]->target, {message.landing_offset, 0}};
            for (std::uint64_t parity = 0; receiver.is_near && parity < 2; ++parity) {
                record.places[parity] =
                    message.is_in_place
                        ? shared_address(gma_.space(), sent_[i]->memory, message.bytes)
                        : block_ + outbox_ + parity * layout_.outbox_bytes + message.outbox_offset;
            }
            *next++ = record;
        }
    }
}

// Every member gathers all entries: which members get how many records from which sender. False:
// the team is broken.
bool Compiler::exchange_entries() {
    std::uint64_t most = 0;
    for (const Summary& summary : summaries_) most = std::max(most, summary.entries);
    if (most == 0) return true;
    std::vector<Entry> own(most);
    std::uint64_t record = 0;
    for (std::uint32_t line = 0; line < layout_.receivers.size(); ++line) {
        const LaidReceiver& receiver = layout_.receivers[line];
        const auto count = static_cast<std::uint32_t>(receiver.messages.size());
        own[line] = {receiver.rank,
                     count,
                     receiver.parcels,
                     line,
                     block_ + records_ + record * sizeof(MessageRecord),
                     receiver.landing_bytes};
        record += count;
    }
    std::vector<Entry> all(most * summaries_.size());
    if (!team::all_gather(team_, bytes_of(own[0]), reinterpret_cast<char*>(all.data()),
                          most * sizeof(Entry))) {
        return false;
    }
    for (std::uint32_t rank = 0; rank < summaries_.size(); ++rank) {
        const std::span entries(all.data() + rank * most, summaries_[rank].entries);
        find_senders(rank, entries);
    }
    return true;
}

// Parcels outside the agreement take the rail of their planned engine. False: the team is broken.
bool Compiler::agree_on_rails(const RailOffers& own) {
    for (const LaidParcel& laid : layout_.parcels) rail_of_.push_back(laid.engine % rails_.rails);
    std::uint64_t most_parcels = 0;
    std::uint64_t most_rails = 1;
    for (const Summary& summary : summaries_) {
        most_parcels = std::max(most_parcels, summary.offers);
        most_rails = std::max(most_rails, summary.rails);
    }
    return execution::agree_on_rails(team_, layout_, own, most_parcels,
                                     static_cast<std::uint32_t>(most_rails), rail_of_);
}

void Compiler::find_senders(std::uint32_t rank, std::span<const Entry> entries) {
    for (const Entry& entry : entries) {
        if (entry.receiver != team_.members().own()) continue;
        senders_.push_back({rank, entry, {}, 0, 0});
    }
}

// Fetches and matches the records of all senders, allocates the landing block, and replies to the
// senders of other nodes.
Status Compiler::accept_all() {
    for (const PatternMessage& message : pattern_.messages()) {
        if (message.kind == PatternMessageKind::receive)
            awaited_[message.partner].push_back(&message);
    }
    routes_.incoming.resize(senders_.size());
    for (std::size_t i = 0; i < senders_.size(); ++i) {
        Status status = fetch_records(senders_[i]);
        if (status.is_ok()) status = match(senders_[i], routes_.incoming[i]);
        if (!status.is_ok()) return status;
    }
    Status status = check_unmatched();
    if (status.is_ok()) status = check_overlaps();
    if (status.is_ok()) status = make_landing();
    for (std::size_t i = 0; i < senders_.size() && status.is_ok(); ++i) {
        finish_incoming(senders_[i], routes_.incoming[i]);
        if (!is_near(senders_[i].rank)) status = reply(senders_[i]);
    }
    return status;
}

Status Compiler::fetch_records(Sender& sender) {
    sender.records.resize(sender.entry.messages);
    const std::uint64_t bytes = sender.records.size() * sizeof(MessageRecord);
    auto* const target = reinterpret_cast<char*>(sender.records.data());
    const std::uint32_t process = team_.members().process(sender.rank);
    if (is_near(sender.rank)) {
        std::memcpy(target, shared_pointer(gma_.space(), process, sender.entry.records), bytes);
        return {};
    }
    return gma_.wait_for_one(gma_.issue_pointer(
        {sender.entry.records, {target, bytes, true}, memory::IssuedBy::read}, gma::handle_null));
}

// Finds the target of each message that a member sends: its receive in add order, or the address
// that a copy names.
Status Compiler::match(const Sender& sender, IncomingRoute& incoming) {
    const auto& awaited = awaited_[sender.rank];
    std::size_t next = 0;
    std::size_t sends = 0;
    for (const MessageRecord& record : sender.records) {
        char* target = nullptr;
        BlockPointer block;
        if (record.target != 0) {
            auto own = target_of(record);
            if (!own.is_ok()) return std::move(own).failure().within(name_of(sender.rank));
            target = own.value();
        } else if (++sends; next < awaited.size()) {
            const PatternMessage& wanted = *awaited[next++];
            if (wanted.bytes != record.bytes) {
                return {Code::mismatch,
                        name_of(sender.rank) + " sends " + std::to_string(record.bytes) +
                            " bytes as its message " + std::to_string(next - 1) +
                            " to this one, which expects " + std::to_string(wanted.bytes)};
            }
            target = wanted.memory;
            block = wanted.block;
        }
        incoming.messages.push_back({{}, target, record.bytes, false, std::move(block)});
    }
    if (sends == awaited.size()) return {};
    return {Code::mismatch, name_of(sender.rank) + " sends " + std::to_string(sends) +
                                " messages to this one, which expects " +
                                std::to_string(awaited.size())};
}

// Resolves the target of a copy into the caller's memory.
Result<char*> Compiler::target_of(const MessageRecord& record) const {
    const local::Space& space = gma_.space();
    local::Place place;
    // The owner may end a registration at any time, except while a plan has targets in it.
    if (const Code code = space.find(record.target, record.bytes, place); code != Code::ok)
        return Status(code, "copies to " + space.explain(record.target, record.bytes));
    return place.direct;
}

Status Compiler::check_unmatched() const {
    for (const auto& [rank, messages] : awaited_) {
        const bool is_there = messages.empty() || std::any_of(senders_.begin(), senders_.end(),
                                                              [rank = rank](const Sender& sender) {
                                                                  return sender.rank == rank;
                                                              });
        if (!is_there) {
            return {Code::mismatch, name_of(rank) + " sends nothing to this one, which expects " +
                                        std::to_string(messages.size()) + " messages"};
        }
    }
    return {};
}

Status Compiler::check_overlaps() const {
    std::vector<Target> targets;
    for (std::size_t i = 0; i < senders_.size(); ++i) {
        const auto& messages = routes_.incoming[i].messages;
        for (std::size_t k = 0; k < messages.size(); ++k) add_targets(messages[k], i, k, targets);
    }
    // Equal beginnings keep the order of senders and messages.
    std::stable_sort(targets.begin(), targets.end(), [](const Target& first, const Target& second) {
        return first.begin < second.begin;
    });
    const auto name = [&](const Target& target, const char* at) {
        const TakenMessage& message = routes_.incoming[target.sender].messages[target.message];
        return "byte " + std::to_string(at - message.target) + " of message " +
               std::to_string(target.message) + " from " + name_of(senders_[target.sender].rank);
    };
    for (std::size_t i = 1; i < targets.size(); ++i) {
        const Target& before = targets[i - 1];
        const Target& after = targets[i];
        if (after.begin >= before.begin + before.bytes) continue;
        return {Code::argument,
                "messages overlap in this one's memory: " + name(before, after.begin) +
                    " comes to the same place as " + name(after, after.begin)};
    }
    return {};
}

// Allocates the landing block: the round words and the landing areas of all senders on other nodes.
Status Compiler::make_landing() {
    std::uint64_t words = 0;
    for (Sender& sender : senders_) {
        if (is_near(sender.rank)) continue;
        sender.words = words;
        words += sender.entry.parcels * sizeof(ByParity<RoundWord>);
    }
    std::uint64_t bytes = in_lines(words);
    for (Sender& sender : senders_) {
        if (is_near(sender.rank)) continue;
        sender.landing = bytes;
        bytes += 2 * in_lines(sender.entry.landing_bytes);
    }
    if (bytes == 0) return {};
    auto block = allocator_.allocate(gma_.space().process(), bytes, sync::line_bytes);
    if (!block.is_ok()) return std::move(block).failure();
    landing_ = block.value();
    routes_.blocks.push_back(landing_);
    routes_.heap_bytes += bytes;
    std::memset(shared_pointer(gma_.space(), gma_.space().process(), landing_), 0, in_lines(words));
    return {};
}

Status Compiler::reply(const Sender& sender) {
    Reply reply{landing_ + sender.words, landing_ + sender.landing};
    const GlobalAddress target = summaries_[sender.rank].block + line_offset(sender.entry.line) +
                                 offsetof(OutgoingLine, arrived);
    return gma_.wait_for_one(gma_.issue_pointer(
        {target, {reinterpret_cast<char*>(&reply), sizeof reply, false}, memory::IssuedBy::write},
        gma::handle_null));
}

void Compiler::finish_incoming(const Sender& sender, IncomingRoute& incoming) {
    const local::Space& space = gma_.space();
    const std::uint32_t process = team_.members().process(sender.rank);
    const GlobalAddress block = summaries_[sender.rank].block;
    const GlobalAddress consumed =
        block + line_offset(sender.entry.line) + offsetof(OutgoingLine, consumed);
    PartnerFlow& flow = partner(sender.rank).received;
    incoming.rank = sender.rank;
    incoming.process = process;
    incoming.consumed_address = {consumed, consumed + sizeof(RoundWord)};
    char* landing = nullptr;
    if (is_near(sender.rank)) {
        incoming.started =
            &reinterpret_cast<BlockHead*>(shared_pointer(space, process, block))->started;
        incoming.consumed =
            reinterpret_cast<ByParity<RoundWord>*>(shared_pointer(space, process, consumed));
    } else if (landing_ != 0) {
        char* const own = shared_pointer(space, space.process(), landing_);
        incoming.arrived = reinterpret_cast<const ByParity<RoundWord>*>(own + sender.words);
        landing = own + sender.landing;
    }
    incoming.parcels = is_near(sender.rank) ? 0 : sender.entry.parcels;
    flow.parcels = incoming.parcels;
    const std::uint64_t stride = in_lines(sender.entry.landing_bytes);
    for (std::size_t i = 0; i < sender.records.size(); ++i) {
        TakenMessage& message = incoming.messages[i];
        const MessageRecord& record = sender.records[i];
        ++flow.messages;
        flow.bytes += record.bytes;
        const bool is_in_place = record.places[0] == record.places[1] && record.bytes != 0;
        if (incoming.started != nullptr && is_in_place) ++flow.in_place;
        message.is_in_lines =
            incoming.started != nullptr && !is_in_place && record.bytes >= sync::line_bytes;
        for (std::uint64_t parity = 0; parity < 2; ++parity) {
            message.from[parity] = incoming.started != nullptr
                                       ? shared_pointer(space, process, record.places[parity])
                                       : landing + parity * stride + record.places[0];
        }
    }
    std::erase_if(incoming.messages, [](const TakenMessage& one) { return one.bytes == 0; });
}

void Compiler::finish_outgoing() {
    const local::Space& space = gma_.space();
    char* const block = reinterpret_cast<char*>(routes_.head);
    routes_.number = team_.id();
    for (std::uint32_t rank = 0; rank < team_.members().size(); ++rank)
        routes_.processes.push_back(team_.members().process(rank));
    for (std::size_t line = 0; line < layout_.receivers.size(); ++line) {
        const LaidReceiver& receiver = layout_.receivers[line];
        PartnerFlow& flow = partner(receiver.rank).sent;
        flow.parcels = receiver.parcels;
        bool is_read_in_place = false;
        for (const std::uint32_t i : receiver.messages) {
            const LaidMessage& message = layout_.messages[i];
            ++flow.messages;
            flow.bytes += message.bytes;
            flow.in_place += message.is_in_place ? 1 : 0;
            is_read_in_place = is_read_in_place || (message.is_in_place && message.is_near);
            if (message.is_in_place || message.bytes == 0) continue;
            char* const to = block + outbox_ + message.outbox_offset;
            routes_.packed.push_back({sent_[i]->memory,
                                      {to, to + layout_.outbox_bytes},
                                      message.bytes,
                                      sent_[i]->block});
        }
        routes_.outgoing.push_back({receiver.rank,
                                    reinterpret_cast<OutgoingLine*>(block + line_offset(line)),
                                    is_read_in_place});
    }
    for (Partner& each : routes_.partners) {
        each.block = summaries_[each.rank].block;
        if (!is_near(each.rank)) continue;
        each.head = reinterpret_cast<BlockHead*>(shared_pointer(space, each.process, each.block));
        if (each.process != space.process())
            each.bell = &space.segment().slot(space.slot_of(each.process)).door.waiter_bell;
    }
}

// Requires that the receivers on other nodes have replied.
void Compiler::finish_parcels() {
    const local::Space& space = gma_.space();
    routes_.rails = rails_;
    for (std::size_t i = 0; i < layout_.parcels.size(); ++i) {
        const LaidParcel& laid = layout_.parcels[i];
        const LaidReceiver& receiver = layout_.receivers[laid.receiver];
        const LaidMessage& message = layout_.messages[laid.message];
        const OutgoingLine& line = *routes_.outgoing[laid.receiver].line;
        RoutedParcel parcel;
        parcel.process = team_.members().process(receiver.rank);
        parcel.is_in_place = message.is_in_place;
        parcel.bytes = laid.bytes;
        parcel.rail = rail_of_[i];
        for (std::uint64_t parity = 0; parity < 2; ++parity) {
            parcel.from[parity] =
                laid.offset +
                (message.is_in_place
                     ? shared_address(space, sent_[laid.message]->memory, message.bytes)
                     : block_ + outbox_ + parity * layout_.outbox_bytes + message.outbox_offset);
            parcel.memory[parity] = shared_pointer(space, space.process(), parcel.from[parity]);
            parcel.arrived[parity] =
                line.arrived + laid.word * sizeof(ByParity<RoundWord>) + parity * sizeof(RoundWord);
            const GlobalAddress to = line.landing + parity * in_lines(receiver.landing_bytes) +
                                     message.landing_offset + laid.offset;
            parcel.to[parity] = space.layout().colored(to, parcel.rail);
        }
        routes_.parcels.push_back(parcel);
    }
}

// Returns the partner of that rank, which is added at the first call.
Partner& Compiler::partner(std::uint32_t rank) {
    const auto known = std::find_if(routes_.partners.begin(), routes_.partners.end(),
                                    [rank](const Partner& one) { return one.rank == rank; });
    if (known != routes_.partners.end()) return *known;
    Partner& added = routes_.partners.emplace_back();
    added.rank = rank;
    added.process = team_.members().process(rank);
    return added;
}

void Compiler::drop() noexcept {
    for (const GlobalAddress block : routes_.blocks) {
        try {
            (void)allocator_.free(block);
        } catch (const std::bad_alloc&) {
            // free() may need memory for its request; without it the block is reclaimed when the
            // heaps are emptied.
        }
    }
    routes_.blocks.clear();
}

}  // namespace acp::execution
