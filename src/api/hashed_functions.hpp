// SPDX-License-Identifier: BSD-3-Clause
// The functions that all four hashed containers have, written once: ACP_HASHED_FUNCTIONS defines
// those of include/acp/{map,multimap,set,multiset}.h.
#pragma once

#include <cstring>

#include "api/hashed.hpp"

namespace acp::api {

using data::Scope;

// Calls that find an iterator's entry, or one behind it.
template <typename Handle, typename Find>
Iterator<Handle> iterate(const char* call, const Handle& handle, Scope scope, const Find& find) {
    return call_hashed(
        call, no_iterator(handle), handle,
        [&](data::Hashed& hashed, const ContainerName& name) -> base::Result<Iterator<Handle>> {
            data::HashedWalk walk(hashed);
            base::Result<data::EntryPlace> place = find(walk, name);
            if (!place.is_ok()) return std::move(place).failure();
            return iterator_at(handle, place.value(), scope);
        });
}

template <typename Handle>
Iterator<Handle> begin(const char* call, const Handle& handle, Scope scope) noexcept {
    return iterate(call, handle, scope, [scope](data::HashedWalk& walk, const ContainerName& name) {
        auto place = walk.beginning(name, scope);
        return place.is_ok() ? walk.next(name, place.value(), scope) : std::move(place);
    });
}

template <typename Handle>
Iterator<Handle> end(const char* call, const Handle& handle, Scope scope) noexcept {
    return iterate(call, handle, scope, [scope](data::HashedWalk& walk, const ContainerName& name) {
        return walk.end(name, scope);
    });
}

// The end stays the end.
template <typename Handle, typename It>
It increment(const char* call, const It& it) noexcept {
    const Scope scope = it.is_local != 0 ? Scope::local : Scope::all;
    const Handle& handle = it.*HashedTypes<Handle>::container;
    const bool is_sound = is_stamped(handle.ga, it);
    if (is_sound && it.elem == ACP_GA_NULL) return it;
    EntryPlace at = place_of<Handle>(it);
    const memory::HazardLine* line = inline_line;
    if (line != nullptr && is_sound &&
        data::HashedWalk(*library().hashed).next_at_once(*line, name_of(handle), at, scope))
        [[likely]] {
        return iterator_at(handle, at, scope);
    }
    return iterate(
        call, handle, scope,
        [&](data::HashedWalk& walk, const ContainerName& name) -> base::Result<data::EntryPlace> {
            if (auto status = check_iterator<Handle>(it); !status.is_ok()) return status;
            return walk.next(name, at, scope);
        });
}

// Copies entries from an iterator's on. If there is no room for the first one, *it becomes the
// iterator to it.
template <typename Handle, typename It>
std::int64_t scan(const char* call,
                  It* it,
                  std::span<acp_entry_t> entries,
                  std::span<std::byte> room) noexcept {
    const It from = it != nullptr ? *it : It{};
    const Handle& handle = from.*HashedTypes<Handle>::container;
    return call_hashed(
        call, std::int64_t{-1}, handle,
        [&](data::Hashed& hashed, const ContainerName& name) -> base::Result<std::int64_t> {
            if (it == nullptr) return base::Status(base::Code::argument, "it is NULL");
            if (auto status = check_iterator<Handle>(from); !status.is_ok()) return status;
            if (entries.data() == nullptr && !entries.empty())
                return base::Status(base::Code::argument, "entries is NULL");
            if (room.data() == nullptr && !room.empty())
                return base::Status(base::Code::argument, "room is NULL");
            if (is_in_shared_range(entries.data())) return in_shared_range("entries");
            if (auto status = refuse_shared("room", room.data(), room.size()); !status.is_ok())
                return status;
            const Scope scope = from.is_local != 0 ? Scope::local : Scope::all;
            EntryPlace at = place_of<Handle>(from);
            std::size_t next = 0;
            const auto take = [&](std::span<const std::byte> key, std::span<std::byte> value) {
                acp_entry_t& entry = entries[next++];
                entry = {key.data(), key.size(), value.data(), value.size(), 0, 1};
                if (name.kind == ContainerKind::multiset)
                    std::memcpy(&entry.number, value.data(), value.size());
            };
            auto scanned =
                data::HashedWalk(hashed).scan(name, at, scope, {entries.size(), room, take});
            if (!scanned.is_ok() && scanned.failure().code() != base::Code::limit)
                return std::move(scanned).failure();
            *it = iterator_at(handle, at, scope);
            if (!scanned.is_ok()) return std::move(scanned).failure();
            return static_cast<std::int64_t>(scanned.value());
        });
}

template <typename Handle>
std::size_t count(const char* call, const Handle& handle, Scope scope) noexcept {
    return call_hashed(call, static_cast<std::size_t>(-1), handle,
                       [scope](data::Hashed& hashed, const ContainerName& name) {
                           return data::HashedWalk(hashed).entries(name, scope);
                       });
}

template <typename Handle>
int is_empty(const char* call, const Handle& handle, Scope scope) noexcept {
    const std::size_t entries = count(call, handle, scope);
    return entries == static_cast<std::size_t>(-1) ? -1 : static_cast<int>(entries == 0);
}

// Calls of HashedWalk without a result.
template <typename Handle, typename Do>
int change_all(const char* call, const Handle& handle, const Do& act) noexcept {
    return call_hashed(call, -1, handle, [&](data::Hashed& hashed, const ContainerName& name) {
        data::HashedWalk walk(hashed);
        return as_zero(act(walk, name));
    });
}

template <typename Handle>
int clear(const char* call, const Handle& handle, Scope scope) noexcept {
    return change_all(call, handle, [scope](data::HashedWalk& walk, const ContainerName& name) {
        return walk.clear(name, scope);
    });
}

template <typename Handle>
int merge(const char* call, const Handle& into, const Handle& from, Scope scope) noexcept {
    return change_all(call, into, [&](data::HashedWalk& walk, const ContainerName& name) {
        return walk.merge(name, name_of(from), scope);
    });
}

template <typename Handle>
int assign(const char* call, const Handle& into, const Handle& from, Scope scope) noexcept {
    return change_all(call, into, [&](data::HashedWalk& walk, const ContainerName& name) {
        return walk.assign(name, name_of(from), scope);
    });
}

template <typename Handle>
int move(const char* call, const Handle& into, const Handle& from, Scope scope) noexcept {
    return call_hashed(call, -1, into, [&](data::Hashed& hashed, const ContainerName& name) {
        return as_zero(move_entries(call, hashed, {name, name_of(from)}, scope));
    });
}

template <typename Handle>
int swap(const char* call, const Handle& one, const Handle& other) noexcept {
    return call_hashed(call, -1, one, [&](data::Hashed& hashed, const ContainerName& name) {
        return as_zero(data::HashedExchange(hashed).run(name, name_of(other)));
    });
}

// visit(key, value) -> bool: continue.
template <typename Handle, typename Visit>
std::int64_t for_each_local(const char* call,
                            const Handle& handle,
                            bool has_visit,
                            const Visit& visit) noexcept {
    return call_hashed(
        call, std::int64_t{-1}, handle,
        [&](data::Hashed& hashed, const ContainerName& name) -> base::Result<std::int64_t> {
            if (!has_visit) return base::Status(base::Code::argument, "visit is NULL");
            auto visited = data::HashedWalk(hashed).visit_local(name, visit);
            if (!visited.is_ok()) return std::move(visited).failure();
            return static_cast<std::int64_t>(visited.value());
        });
}

template <typename Found, typename Handle>
Found find_long(const char* call, const Handle& handle, std::span<const std::byte> key) noexcept {
    return call_with_key(
        call, Found{no_iterator(handle), -1}, handle, key,
        [&](data::Hashed& hashed, const ContainerName& name) -> base::Result<Found> {
            data::EntryPlace place;
            auto found = hashed.find(name, key, {}, &place);
            if (!found.is_ok()) return std::move(found).failure();
            const bool is_there = found.value().effect == table::Effect::done;
            return Found{iterator_at(handle, place, Scope::all), is_there ? 1 : 0};
        });
}

// A find in a container of which the calling thread has no valid view.
template <typename Found, typename Handle>
[[gnu::noinline]] void find_without_view(const char* call,
                                         const Handle& handle,
                                         std::span<const std::byte> key,
                                         Found& found) noexcept {
    data::EntryResult at_once;
    if (run_at_once<data::TableCalls::Finding>(handle, key, 0, at_once, found.it,
                                               [&](const data::TablePlace& place) {
                                                   return data::finding(place, key, {});
                                               })) [[likely]] {
        found.success = at_once.effect == table::Effect::done ? 1 : 0;
    } else {
        found = find_long<Found>(call, handle, key);
    }
}

//   found  the object that the C function returns: see set_iterator
template <typename Found, typename Handle>
[[gnu::always_inline]] inline void find(const char* call,
                                        const Handle& handle,
                                        std::span<const std::byte> key,
                                        Found& found) noexcept {
    std::uint64_t tables = 0;
    const auto result = find_by_view(
        handle, key, tables,
        [&](const data::TableView& view, std::uint64_t hash, auto& record, std::uint64_t number)
            __attribute__((always_inline)) {
                const EntryPlace place{view.index,           data::place_by_key(hash, key),
                                       view.address(number), key.size(),
                                       record.value_bytes,   record.mark()};
                set_iterator(found.it, handle, place, Scope::all);
            });
    if (result == data::TableViews::Found::unknown) [[unlikely]]
        return find_without_view(call, handle, key, found);
    found.success = 1;
    if (result == data::TableViews::Found::there) return;
    found.success = 0;
    set_iterator(found.it, handle, EntryPlace{tables},
                 Scope::all);  // behind all entries
}

template <typename Handle>
int remove(const char* call, const Handle& handle, std::span<const std::byte> key) noexcept {
    return call_with_key(call, -1, handle, key,
                         [&](data::Hashed& hashed, const ContainerName& name) -> base::Result<int> {
                             auto erased = hashed.erase(name, key);
                             if (!erased.is_ok()) return std::move(erased).failure();
                             return erased.value().effect == table::Effect::done ? 1 : 0;
                         });
}

// The addresses of key and value of an iterator's entry: in a record the value comes first.
// Errors: argument (the end, or an iterator that the program has changed).
template <typename Handle>
acp_pair_t pair_at(const char* call, const Iterator<Handle>& it) noexcept {
    using Record = table::EntryRecord<std::atomic>;
    const Handle& handle = it.*HashedTypes<Handle>::container;
    if (it.elem == ACP_GA_NULL || !is_stamped(handle.ga, it)) [[unlikely]] {
        return run<Gravity::misuse_ends>(call, acp_pair_t{}, [&]() -> base::Result<acp_pair_t> {
            base::Status status = check_iterator<Handle>(it);
            if (status.is_ok()) status = {base::Code::argument, "the iterator is at no entry"};
            return std::move(status).within(call);
        });
    }
    const acp_ga_t value = it.elem + Record::head_bytes;
    return {{value + Record::rounded(it.value_size), it.key_size}, {value, it.value_size}};
}

// Erases an iterator's entry, and finds the one behind it.
template <typename Handle, typename It>
It erase(const char* call, const It& it) noexcept {
    const Handle& handle = it.*HashedTypes<Handle>::container;
    return call_hashed(
        call, no_iterator(handle), handle,
        [&](data::Hashed& hashed, const ContainerName& name) -> base::Result<It> {
            if (auto status = check_iterator<Handle>(it); !status.is_ok()) return status;
            if (it.elem == ACP_GA_NULL)
                return base::Status(base::Code::argument, "the iterator is at no entry");
            auto erased = hashed.erase_record(name, place_of<Handle>(it));
            if (!erased.is_ok()) return std::move(erased).failure();
            if (erased.value().effect != table::Effect::done)
                return base::Status(base::Code::stale, "the entry was erased before");
            const Scope scope = it.is_local != 0 ? Scope::local : Scope::all;
            auto next = data::HashedWalk(hashed).next(name, place_of<Handle>(it), scope);
            if (!next.is_ok()) return std::move(next).failure();
            return iterator_at(handle, next.value(), scope);
        });
}

}  // namespace acp::api

// NOLINTBEGIN(bugprone-macro-parentheses, cppcoreguidelines-macro-usage): names are pasted together
#define ACP_HASHED_FUNCTIONS(kind)                                                                \
    acp_##kind##_t acp_create_##kind(int num_ranks, const int* ranks, int num_slots, int rank) {  \
        return acp::api::create<acp_##kind##_t>("acp_create_" #kind, num_ranks, ranks, num_slots, \
                                                rank);                                            \
    }                                                                                             \
    acp_##kind##_t acp_create_##kind##_with(const acp_hashed_options_t* options) {                \
        return acp::api::create<acp_##kind##_t>("acp_create_" #kind "_with", options);            \
    }                                                                                             \
    int acp_destroy_##kind(acp_##kind##_t handle) {                                               \
        return acp::api::destroy("acp_destroy_" #kind, handle);                                   \
    }                                                                                             \
    std::size_t acp_size_##kind(acp_##kind##_t handle) {                                          \
        return acp::api::count("acp_size_" #kind, handle, acp::data::Scope::all);                 \
    }                                                                                             \
    std::size_t acp_size_local_##kind(acp_##kind##_t handle) {                                    \
        return acp::api::count("acp_size_local_" #kind, handle, acp::data::Scope::local);         \
    }                                                                                             \
    int acp_empty_##kind(acp_##kind##_t handle) {                                                 \
        return acp::api::is_empty("acp_empty_" #kind, handle, acp::data::Scope::all);             \
    }                                                                                             \
    int acp_empty_local_##kind(acp_##kind##_t handle) {                                           \
        return acp::api::is_empty("acp_empty_local_" #kind, handle, acp::data::Scope::local);     \
    }                                                                                             \
    acp_##kind##_it_t acp_begin_##kind(acp_##kind##_t handle) {                                   \
        return acp::api::begin("acp_begin_" #kind, handle, acp::data::Scope::all);                \
    }                                                                                             \
    acp_##kind##_it_t acp_end_##kind(acp_##kind##_t handle) {                                     \
        return acp::api::end("acp_end_" #kind, handle, acp::data::Scope::all);                    \
    }                                                                                             \
    acp_##kind##_it_t acp_begin_local_##kind(acp_##kind##_t handle) {                             \
        return acp::api::begin("acp_begin_local_" #kind, handle, acp::data::Scope::local);        \
    }                                                                                             \
    acp_##kind##_it_t acp_end_local_##kind(acp_##kind##_t handle) {                               \
        return acp::api::end("acp_end_local_" #kind, handle, acp::data::Scope::local);            \
    }                                                                                             \
    acp_##kind##_it_t acp_increment_##kind##_it(acp_##kind##_it_t it) {                           \
        return acp::api::increment<acp_##kind##_t>("acp_increment_" #kind "_it", it);             \
    }                                                                                             \
    acp_##kind##_it_t acp_erase_##kind(acp_##kind##_it_t it) {                                    \
        return acp::api::erase<acp_##kind##_t>("acp_erase_" #kind, it);                           \
    }                                                                                             \
    std::int64_t acp_scan_##kind(acp_##kind##_it_t* it, std::size_t count, acp_entry_t* entries,  \
                                 void* room, std::size_t room_size) {                             \
        return acp::api::scan<acp_##kind##_t>("acp_scan_" #kind, it, {entries, count},            \
                                              {static_cast<std::byte*>(room), room_size});        \
    }                                                                                             \
    int acp_clear_##kind(acp_##kind##_t handle) {                                                 \
        return acp::api::clear("acp_clear_" #kind, handle, acp::data::Scope::all);                \
    }                                                                                             \
    int acp_clear_local_##kind(acp_##kind##_t handle) {                                           \
        return acp::api::clear("acp_clear_local_" #kind, handle, acp::data::Scope::local);        \
    }                                                                                             \
    int acp_assign_##kind(acp_##kind##_t into, acp_##kind##_t from) {                             \
        return acp::api::assign("acp_assign_" #kind, into, from, acp::data::Scope::all);          \
    }                                                                                             \
    int acp_assign_local_##kind(acp_##kind##_t into, acp_##kind##_t from) {                       \
        return acp::api::assign("acp_assign_local_" #kind, into, from, acp::data::Scope::local);  \
    }                                                                                             \
    int acp_merge_##kind(acp_##kind##_t into, acp_##kind##_t from) {                              \
        return acp::api::merge("acp_merge_" #kind, into, from, acp::data::Scope::all);            \
    }                                                                                             \
    int acp_merge_local_##kind(acp_##kind##_t into, acp_##kind##_t from) {                        \
        return acp::api::merge("acp_merge_local_" #kind, into, from, acp::data::Scope::local);    \
    }                                                                                             \
    int acp_move_##kind(acp_##kind##_t into, acp_##kind##_t from) {                               \
        return acp::api::move("acp_move_" #kind, into, from, acp::data::Scope::all);              \
    }                                                                                             \
    int acp_move_local_##kind(acp_##kind##_t into, acp_##kind##_t from) {                         \
        return acp::api::move("acp_move_local_" #kind, into, from, acp::data::Scope::local);      \
    }                                                                                             \
    int acp_swap_##kind(acp_##kind##_t one, acp_##kind##_t other) {                               \
        return acp::api::swap("acp_swap_" #kind, one, other);                                     \
    }
// NOLINTEND(bugprone-macro-parentheses, cppcoreguidelines-macro-usage)
