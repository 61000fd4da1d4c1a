// SPDX-License-Identifier: BSD-3-Clause
// The maps of ends that wait for their partners.
#include "message/pairing.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "data/ask.hpp"

#include "operations/put_signal.hpp"

namespace acp::message {

using base::Result;
using base::Status;
using memory::Operation;

namespace {

// The key of an end in its receiver's map.
struct EntryKey {
    std::uint64_t number = 0;
    std::uint32_t sender = 0;
    EndKind kind = EndKind::channel;
    Side side = Side::sender;

    EntryKey(const ChannelName& name, Side of) noexcept
        : number(name.number), sender(name.sender), kind(name.kind), side(of) {}
};

static_assert(sizeof(EntryKey) == 16, "all its bytes are the key");

data::Bytes bytes_of(const EntryKey& key) noexcept {
    return std::as_bytes(std::span(&key, 1));
}

// Returns the result of call(); memory, if it throws bad_alloc.
template <typename Call>
auto contained(const Call& call) -> decltype(call()) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return Status::bare(base::Code::memory);
    }
}

}  // namespace

Status name_partner(const node::Segment& segment,
                    const ChannelName& name,
                    Side side,
                    Status status) noexcept {
    if (status.is_ok()) return status;
    const bool is_sender = side == Side::sender;
    const std::uint32_t rank = segment.rank_of(is_sender ? name.receiver : name.sender);
    std::array<char, 32> phrase{};
    std::snprintf(phrase.data(), phrase.size(), "%s rank %u", is_sender ? "to" : "from", rank);
    return std::move(status).within(phrase.data());
}

void Pairing::clear(const node::Segment& segment, std::uint32_t slot) noexcept {
    std::memset(segment.claimed(slot, channel_map), 0, sizeof(GlobalAddress));
}

Result<std::optional<Introduction>> Pairing::match(const ChannelName& name,
                                                   Side side,
                                                   const Introduction& own,
                                                   bool& is_known) {
    for (;;) {
        // Both ends add their own entry before they look up the partner's; each is one linearizable
        // step of the map.
        Status status = contained([&] { return add(name, side, own); });
        // an earlier iteration may have failed to withdraw it
        is_known = is_known || status.is_ok();
        if (!status.is_ok()) return status;
        Introduction partner;
        auto meeting = contained([&] { return look_for_partner(name, side, own, partner); });
        if (meeting.is_ok() && meeting.value() == Encounter::met) return std::optional(partner);
        if (meeting.is_ok() && meeting.value() == Encounter::awaited)
            return std::optional<Introduction>();
        auto withdrawn = contained([&] { return withdraw(name, side); });
        if (withdrawn.is_ok() && !withdrawn.value()) {
            forget_taken({name, other(side)});  // the partner has taken this end's entry
            return std::optional<Introduction>();
        }
        is_known = !withdrawn.is_ok();
        if (!meeting.is_ok()) return std::move(meeting).failure();
    }
}

Status Pairing::add(const ChannelName& name, Side side, const Introduction& own) {
    auto map = map_of(name.receiver);
    if (!map.is_ok()) return std::move(map).failure();
    const EntryKey key(name, side);
    auto put = hashed_.put(map.value(),
                           {.key = bytes_of(key),
                            .value = std::as_bytes(std::span(&own, 1)),
                            .mode = data::PutMode::assign,
                            .expected = {}},
                           nullptr);
    return put.is_ok() ? Status() : std::move(put).failure();
}

Result<Pairing::Encounter> Pairing::look_for_partner(const ChannelName& name,
                                                     Side side,
                                                     const Introduction& own,
                                                     Introduction& partner) {
    const EndName end{name, other(side)};
    auto taken = take(end, partner);
    if (!taken.is_ok() || taken.value() != Encounter::met) return taken;
    // If this fails, the partner's entry stays in taken_ for the next end of this name, which is
    // this process's too.
    auto told = contained([&] { return write(own, partner.letter); });
    if (!told.is_ok()) return told;
    forget_taken(end);
    // If both ends find each other, the second finds no entry to remove. An entry that stays is
    // never read again.
    (void)contained([&] { return withdraw(name, side); });
    return Encounter::met;
}

// Removes the entry of a partner and keeps it in taken_. met: the entry is removed, now or earlier.
Result<Pairing::Encounter> Pairing::take(const EndName& end, Introduction& partner) {
    {
        const std::scoped_lock lock(mutex_);
        const auto known = taken_.find(end);
        if (known != taken_.end()) {
            partner = known->second;
            return Encounter::met;
        }
    }
    const ChannelName& name = end.first;
    const Side side = end.second;
    auto map = map_of(name.receiver);
    if (!map.is_ok()) return std::move(map).failure();
    auto found = hashed_.find(map.value(), bytes_of(EntryKey(name, side)),
                              std::as_writable_bytes(std::span(&partner, 1)), nullptr);
    if (!found.is_ok()) return std::move(found).failure();
    if (found.value().effect != data::Effect::done) return Encounter::awaited;
    {
        const std::scoped_lock lock(mutex_);
        taken_.emplace(end, partner);  // before withdraw(), for this may throw
    }
    auto removed = contained([&] { return withdraw(name, side); });
    if (removed.is_ok() && removed.value()) return Encounter::met;
    forget_taken(end);
    if (!removed.is_ok()) return std::move(removed).failure();
    return Encounter::withdrawn;
}

void Pairing::forget_taken(const EndName& end) noexcept {
    const std::scoped_lock lock(mutex_);
    taken_.erase(end);
}

Result<bool> Pairing::withdraw(const ChannelName& name, Side side) {
    auto map = map_of(name.receiver);
    if (!map.is_ok()) return std::move(map).failure();
    auto erased = hashed_.erase(map.value(), bytes_of(EntryKey(name, side)));
    if (!erased.is_ok()) return std::move(erased).failure();
    return erased.value().effect == data::Effect::done;
}

Status Pairing::write(const Introduction& own, GlobalAddress letter) {
    struct {
        operations::PutSignal head;
        Introduction from;
    } arguments{{letter, letter + offsetof(Letter, has_come), 1}, own};

    return data::ask(gma_, {static_cast<std::uint32_t>(gma_.space().layout().process(letter)),
                            operations::put_signal_set_number,
                            std::as_bytes(std::span(&arguments, 1)),
                            {},
                            nullptr});
}

Result<data::ContainerName> Pairing::map_of(std::uint32_t process) {
    {
        const std::scoped_lock lock(mutex_);
        const auto known = maps_.find(process);
        if (known != maps_.end()) return known->second;
    }
    const GlobalAddress word = gma_.space().claimed_address(process, channel_map);
    auto directory = gma_.fetch<std::uint64_t, Operation::add>(word, {0, 0});
    if (!directory.is_ok()) return std::move(directory).failure();
    auto map = directory.value() != 0 ? Result<data::ContainerName>(data::ContainerName{
                                            directory.value(), 0, data::ContainerKind::map})
                                      : make_map(process, word);
    if (map.is_ok()) {
        const std::scoped_lock lock(mutex_);
        maps_.emplace(process, map.value());
    }
    return map;
}

// Makes the map of a process. Of several concurrent makers the first one's map is kept.
Result<data::ContainerName> Pairing::make_map(std::uint32_t process, GlobalAddress word) {
    data::HashedOptions options;
    options.processes = {process};
    options.directory_process = process;
    auto made = hashed_.create(options);
    if (!made.is_ok()) return made;
    // Marked as in use before other processes find it: otherwise it would vanish with this process,
    // and leave a stale word.
    if (Status status = hashed_.begin_use(made.value()); !status.is_ok()) return status;
    auto first =
        gma_.fetch<std::uint64_t, Operation::compare_swap>(word, {made.value().directory, 0});
    if (first.is_ok() && first.value() == 0) return made;
    (void)hashed_.destroy(made.value());
    if (!first.is_ok()) return std::move(first).failure();
    return data::ContainerName{first.value(), 0, data::ContainerKind::map};
}

}  // namespace acp::message
