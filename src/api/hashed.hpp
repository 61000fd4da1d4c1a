// SPDX-License-Identifier: BSD-3-Clause
// Shared by the C functions of the four hashed containers: conversion of handles and iterators to
// the data layer's, the boundary, and the name of the call in messages. Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "base/format.hpp"
#include "data/hashed.hpp"
#include "data/hashed_batch.hpp"
#include "data/hashed_exchange.hpp"
#include "data/hashed_walk.hpp"
#include "gma/commands.hpp"

#include <acp/map.h>
#include <acp/multimap.h>
#include <acp/multiset.h>
#include <acp/set.h>

namespace acp::api {

using data::ContainerKind;
using data::ContainerName;
using data::EntryPlace;

// The C types of a kind of container.
template <typename Handle>
struct HashedTypes;

template <>
struct HashedTypes<acp_map_t> {
    static constexpr ContainerKind kind = ContainerKind::map;
    using Iterator = acp_map_it_t;
    static constexpr acp_map_t acp_map_it_t::*container = &acp_map_it_t::map;
};

template <>
struct HashedTypes<acp_multimap_t> {
    static constexpr ContainerKind kind = ContainerKind::multimap;
    using Iterator = acp_multimap_it_t;
    static constexpr acp_multimap_t acp_multimap_it_t::*container = &acp_multimap_it_t::map;
};

template <>
struct HashedTypes<acp_set_t> {
    static constexpr ContainerKind kind = ContainerKind::set;
    using Iterator = acp_set_it_t;
    static constexpr acp_set_t acp_set_it_t::*container = &acp_set_it_t::set;
};

template <>
struct HashedTypes<acp_multiset_t> {
    static constexpr ContainerKind kind = ContainerKind::multiset;
    using Iterator = acp_multiset_it_t;
    static constexpr acp_multiset_t acp_multiset_it_t::*container = &acp_multiset_it_t::set;
};

template <typename Handle>
[[nodiscard]] ContainerName name_of(const Handle& handle) noexcept {
    return {handle.ga, handle.id, HashedTypes<Handle>::kind};
}

template <typename Handle>
using Iterator = typename HashedTypes<Handle>::Iterator;

template <typename Handle>
[[nodiscard]] Handle& container_of(Iterator<Handle>& it) noexcept {
    return it.*HashedTypes<Handle>::container;
}

// A checksum by which a call detects an iterator whose container, rank or entry was changed since a
// call returned it, or that is all zero. In an iterator's stamp the mark of the entry's record
// (table::RecordName) is added to its lower bits.
template <typename It>
[[nodiscard]] std::uint64_t checksum_of(acp_ga_t container, const It& it) noexcept {
    constexpr std::uint64_t of_zeros = 0x6a09e667f3bcc908;
    const std::uint64_t parts =
        container ^ it.elem << 17 ^ static_cast<std::uint64_t>(it.rank) << 1 ^ of_zeros;
    const std::uint64_t mixed = parts * 0x9e3779b97f4a7c15;
    return (mixed ^ mixed >> 29 ^ it.elem) * 0xbf58476d1ce4e5b9;
}

// The mark in the stamp of an iterator. If no call returned the iterator, the result is more than
// table::claim::mark_mask, up to chance.
template <typename It>
[[nodiscard]] std::uint64_t mark_in(acp_ga_t container, const It& it) noexcept {
    return it.stamp ^ checksum_of(container, it);
}

// Whether a call returned this iterator.
template <typename It>
[[nodiscard]] bool is_stamped(acp_ga_t container, const It& it) noexcept {
    return it.rank >= 0 && mark_in(container, it) <= table::claim::mark_mask;
}

// Errors: argument.
template <typename Handle>
[[nodiscard]] base::Status check_iterator(const Iterator<Handle>& it) {
    const Handle& handle = it.*HashedTypes<Handle>::container;
    if (is_stamped(handle.ga, it)) return {};
    return {base::Code::argument,
            it.rank < 0 ? "the iterator is at no entry"
                        : "the iterator is none of this container: its container, rank " +
                              std::to_string(it.rank) + " or entry " + base::hex(it.elem) +
                              " was changed since a call returned it"};
}

// Makes an iterator stand for an entry, or for the end. In place, and inline, so that the place is
// in registers: reading two neighbouring words together just after each was stored stalls the
// processor for as long as a quarter of a find.
template <typename Handle>
[[gnu::always_inline]] inline void set_iterator(Iterator<Handle>& it,
                                                const Handle& handle,
                                                const EntryPlace& entry,
                                                data::Scope scope) noexcept {
    container_of<Handle>(it) = handle;
    it.rank = static_cast<int>(entry.table);
    it.is_local = scope == data::Scope::local ? 1 : 0;
    it.slot = entry.walk.position;
    it.tie = entry.walk.tie;
    it.elem = entry.record;
    it.key_size = entry.key_bytes;
    it.value_size = entry.value_bytes;
    it.stamp = checksum_of(handle.ga, it) ^ entry.mark;
}

template <typename Handle>
[[nodiscard]] Iterator<Handle> iterator_at(const Handle& handle,
                                           const EntryPlace& entry,
                                           data::Scope scope) noexcept {
    Iterator<Handle> it{};
    set_iterator(it, handle, entry, scope);
    return it;
}

//   it  at an entry of this container
template <typename Handle>
[[nodiscard]] EntryPlace place_of(const Iterator<Handle>& it) noexcept {
    const Handle& handle = it.*HashedTypes<Handle>::container;
    return {static_cast<std::uint64_t>(it.rank),
            {it.slot, it.tie},
            it.elem,
            it.key_size,
            it.value_size,
            mark_in(handle.ga, it)};
}

struct MovePair {
    ContainerName into;
    ContainerName from;
};

// Moves entries between two containers of one kind, while no other call does.
[[nodiscard]] base::Status move_entries(const char* call,
                                        data::Hashed& hashed,
                                        const MovePair& pair,
                                        data::Scope scope);

// An invalid iterator, which is no end either.
template <typename Handle>
[[nodiscard]] Iterator<Handle> no_iterator(const Handle& handle) noexcept {
    Iterator<Handle> it{};
    container_of<Handle>(it) = handle;
    it.rank = -1;
    return it;
}

// Runs a body(data::Hashed&, const ContainerName&) that returns a Result<T>.
//   detail  called for a failure: returns the text that follows the container's name in the message
template <typename T, typename Handle, typename Body, typename Detail>
T call_hashed(const char* call,
              T failed,
              const Handle& handle,
              const Body& body,
              const Detail& detail) noexcept {
    return run<Gravity::misuse_ends>(call, std::move(failed), [&]() -> base::Result<T> {
        if (inline_line == nullptr) open_inline_path();
        const ContainerName name = name_of(handle);
        base::Result<T> result = body(*library().hashed, name);
        if (result.is_ok()) [[likely]]
            return result;
        return std::move(result).failure().within(
            std::string(call) + "(" + data::name_of(name.kind) + " at " +
            base::hex(name.directory) + detail() + ")" + gma::by_rank(library().member->rank()));
    });
}

template <typename T, typename Handle, typename Body>
T call_hashed(const char* call, T failed, const Handle& handle, const Body& body) noexcept {
    return call_hashed(call, std::move(failed), handle, body, [] { return std::string(); });
}

// "key is NULL, and key_size is 5"
//   pointer, size  names of the arguments or fields
[[nodiscard]] inline base::Status null_bytes(const char* pointer,
                                             const char* size,
                                             std::size_t bytes) {
    return {base::Code::argument,
            std::string(pointer) + " is NULL, and " + size + " is " + std::to_string(bytes)};
}

// Runs a call on a key. Refuses a null key with some bytes. Never inline: next to this code the
// compiler assumes that calls on the fast path are rare and optimizes them for size; a body that
// copies its arguments leaves them in registers there.
template <typename T, typename Handle, typename Body>
[[gnu::noinline]] T call_with_key(const char* call,
                                  T failed,
                                  const Handle& handle,
                                  std::span<const std::byte> key,
                                  const Body& body) noexcept {
    return call_hashed(
        call, std::move(failed), handle,
        [&](data::Hashed& hashed, const ContainerName& name) -> base::Result<T> {
            if (key.data() == nullptr && !key.empty()) [[unlikely]] {
                return null_bytes("key", "key_size", key.size());
            }
            if (auto status = refuse_shared("the key", key.data(), key.size()); !status.is_ok())
                return status;
            return body(hashed, name);
        },
        [&] { return ", key of " + base::in_bytes(key.size()); });
}

[[nodiscard]] inline std::span<const std::byte> bytes_at(const void* pointer,
                                                         std::size_t size) noexcept {
    return {static_cast<const std::byte*>(pointer), size};
}

// Converts a program's options of a new container. Errors: argument.
[[nodiscard]] base::Result<data::HashedOptions> options_of(const acp_hashed_options_t& options,
                                                           ContainerKind kind);

template <typename Handle>
Handle create(const char* call, const acp_hashed_options_t* options) noexcept {
    return run<Gravity::misuse_ends>(call, Handle{}, [&]() -> base::Result<Handle> {
        if (inline_line == nullptr) open_inline_path();
        const auto body = [&]() -> base::Result<Handle> {
            if (options == nullptr) return base::Status(base::Code::argument, "options is NULL");
            auto wanted = options_of(*options, HashedTypes<Handle>::kind);
            if (!wanted.is_ok()) return std::move(wanted).failure();
            auto made = library().hashed->create(wanted.value());
            if (!made.is_ok()) return std::move(made).failure();
            Handle handle{};
            handle.ga = made.value().directory;
            handle.id = made.value().id;
            handle.num_ranks = wanted.value().processes.size();
            handle.num_slots = wanted.value().slots;
            return handle;
        };
        auto result = body();
        if (result.is_ok()) return result;
        return std::move(result).failure().within(std::string(call) +
                                                  gma::by_rank(library().member->rank()));
    });
}

// acp_create_map and the three similar calls.
template <typename Handle>
Handle create(const char* call, int num_ranks, const int* ranks, int num_slots, int rank) noexcept {
    acp_hashed_options_t options{};
    options.num_ranks = num_ranks;
    options.ranks = ranks;
    options.rank = rank;
    // A negative number becomes one that is too large, and is refused.
    options.num_slots = static_cast<std::size_t>(static_cast<std::int64_t>(num_slots));
    return create<Handle>(call, &options);
}

[[nodiscard, gnu::always_inline]] inline bool may_run_at_once(std::span<const std::byte> key,
                                                              std::size_t value_size) noexcept {
    constexpr std::size_t most = (1 << 20) - 1;
    if (inline_line == nullptr || hashed_at_hand == nullptr) [[unlikely]]
        return false;
    if ((key.size() | value_size) > most) [[unlikely]]
        return false;
    return (key.data() != nullptr || key.empty()) && !is_in_shared_range(key.data());
}

// Finds the table of a key by the calling thread's view of the container, or by a copy of its
// directory, from which it makes a view for the next call. false: there is neither.
[[nodiscard, gnu::noinline]] bool find_place_anew(const ContainerName& name,
                                                  std::span<const std::byte> key,
                                                  data::TablePlace& place) noexcept;

[[nodiscard, gnu::always_inline]] inline bool find_place(const ContainerName& name,
                                                         std::span<const std::byte> key,
                                                         data::TablePlace& place) noexcept {
    if (table_views_at_hand != nullptr &&
        table_views_at_hand->place(hashed_epoch, name, key, place)) [[likely]]
        return true;
    return find_place_anew(name, key, place);
}

// Runs a call on a key inline, if that needs no wait: data::Hashed::run_at_once. The calling thread
// has made calls before, and cancellation is not held off, because the code has no cancellation
// point.
template <typename Where = data::TableCalls::Here, typename Handle, typename Request>
[[nodiscard, gnu::always_inline]] inline bool run_at_once(const Handle& handle,
                                                          std::span<const std::byte> key,
                                                          std::size_t value_size,
                                                          data::EntryResult& result,
                                                          const Request& request) noexcept {
    data::TablePlace place;
    if (!may_run_at_once(key, value_size) || !find_place(name_of(handle), key, place)) [[unlikely]]
        return false;
    return hashed_at_hand->run_at_once<Where>(*inline_line, place, result, request);
}

// Does so for a call on a map or a set whose result is an iterator.
template <typename Where = data::TableCalls::Here, typename Handle, typename Request>
[[nodiscard, gnu::always_inline]] inline bool run_at_once(const Handle& handle,
                                                          std::span<const std::byte> key,
                                                          std::size_t value_size,
                                                          data::EntryResult& result,
                                                          Iterator<Handle>& it,
                                                          const Request& request) noexcept {
    static_assert(HashedTypes<Handle>::kind == ContainerKind::map ||
                  HashedTypes<Handle>::kind == ContainerKind::set);
    data::TablePlace place;
    if (!may_run_at_once(key, value_size) || !find_place(name_of(handle), key, place)) [[unlikely]]
        return false;
    if (!hashed_at_hand->run_at_once<Where>(*inline_line, place, result, request)) [[unlikely]]
        return false;
    set_iterator(it, handle, data::Hashed::place_after(place, key, result), data::Scope::all);
    return true;
}

// Finds a key by the calling thread's view of the container: data::TableViews::find.
template <typename Handle, typename Visit>
[[nodiscard, gnu::always_inline]] inline data::TableViews::Found find_by_view(
    const Handle& handle,
    std::span<const std::byte> key,
    std::uint64_t& tables,
    const Visit& visit) noexcept {
    constexpr std::size_t most = (1 << 20) - 1;
    if (inline_line == nullptr || table_views_at_hand == nullptr) [[unlikely]]
        return data::TableViews::Found::unknown;
    if (key.size() - 1 >= most || key.data() == nullptr) [[unlikely]]
        return data::TableViews::Found::unknown;
    if (is_in_shared_range(key.data())) [[unlikely]]
        return data::TableViews::Found::unknown;
    return table_views_at_hand->find(hashed_epoch, name_of(handle), key, tables, visit);
}

// A status as the result of an int function.
[[nodiscard]] inline base::Result<int> as_zero(base::Status status) {
    if (status.is_ok()) return 0;
    return status;
}

template <typename Handle>
int destroy(const char* call, const Handle& handle) noexcept {
    return call_hashed(call, -1, handle, [](data::Hashed& hashed, const ContainerName& name) {
        return as_zero(hashed.destroy(name));
    });
}

// The value that an entry of a call on many, or of a call that does not wait, stores. Errors:
// argument (NULL).
[[nodiscard]] inline base::Result<std::span<const std::byte>> value_of(const void* value,
                                                                       std::size_t size) {
    if (value == nullptr && size != 0) return null_bytes("value", "value_size", size);
    if (auto status = refuse_shared("the value", value, size); !status.is_ok()) return status;
    return bytes_at(value, size);
}

// The key and the value of an entry. Errors: unsupported.
[[nodiscard]] inline base::Status check_shared(const acp_entry_t& entry) {
    auto status = refuse_shared("the key", entry.key, entry.key_size);
    return status.is_ok() ? refuse_shared("the value", entry.value, entry.value_size)
                          : std::move(status);
}

[[nodiscard]] inline std::span<std::byte> room_at(void* pointer, std::size_t size) noexcept {
    return {static_cast<std::byte*>(pointer), pointer == nullptr ? 0 : size};
}

// Whether a value can be copied to the caller's buffer: NULL is room for 0 bytes alone.
[[nodiscard, gnu::always_inline]] inline bool is_room(const void* value,
                                                      const std::size_t* value_size) noexcept {
    return value_size != nullptr && (value != nullptr || *value_size == 0) &&
           !is_in_shared_range(value);
}

// Room for a value. Errors: argument (is_room).
[[nodiscard]] inline base::Result<std::span<std::byte>> room_of(void* value,
                                                                const std::size_t* value_size) {
    if (is_room(value, value_size)) return room_at(value, *value_size);
    if (value_size != nullptr && value != nullptr) return in_shared_range("the room for the value");
    if (value_size == nullptr) return base::Status(base::Code::argument, "value_size is NULL");
    return null_bytes("value", "*value_size", *value_size);
}

// Runs a call on many keys.
//   result(item) -> int  for each item; a failure of all is reported once
using data::BatchKind;
[[nodiscard]] base::Result<std::int64_t> run_batch(data::Hashed& hashed,
                                                   const ContainerName& name,
                                                   BatchKind kind,
                                                   std::span<acp_entry_t> entries);

template <typename Handle>
std::int64_t call_many(const char* call,
                       const Handle& handle,
                       BatchKind kind,
                       std::size_t count,
                       acp_entry_t* entries) noexcept {
    return call_hashed(
        call, std::int64_t{-1}, handle,
        [&](data::Hashed& hashed, const ContainerName& name) -> base::Result<std::int64_t> {
            if (entries == nullptr && count != 0)
                return base::Status(base::Code::argument, "entries is NULL");
            if (is_in_shared_range(entries)) return in_shared_range("entries");
            constexpr std::size_t bytes_most = std::numeric_limits<std::ptrdiff_t>::max();
            if (count > bytes_most / sizeof(acp_entry_t)) {
                return base::Status(
                    base::Code::argument,
                    "count is " + std::to_string(count) + ": no array has more than " +
                        std::to_string(bytes_most / sizeof(acp_entry_t)) + " entries");
            }
            return run_batch(hashed, name, kind, {entries, count});
        },
        [&] { return ", " + std::to_string(count) + " keys"; });
}

}  // namespace acp::api
