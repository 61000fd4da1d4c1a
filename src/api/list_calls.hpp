// SPDX-License-Identifier: BSD-3-Clause
// Shared by the calls on lists: conversion of iterators between the C interface and data::Lists,
// and failures that name the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/library.hpp"
#include "data/list_algorithms.hpp"
#include "data/lists.hpp"
#include "gma/commands.hpp"

#include <acp/list.h>

namespace acp::api {

// The stamp of an iterator combines the element's mark and the list, so it is invalid for another
// list.
[[nodiscard]] inline std::uint64_t stamp_mask(acp_ga_t list) noexcept {
    const std::uint64_t mixed = (list ^ list >> 29) * 0x9e3779b97f4a7c15;
    return mixed ^ mixed >> 32;
}

[[nodiscard]] inline data::ListPlace place_of(const acp_list_it_t& it) noexcept {
    if (it.elem == it.list.ga) return data::Lists::end_of(it.list.ga);
    return {it.list.ga, it.elem, it.stamp ^ stamp_mask(it.list.ga)};
}

[[nodiscard]] inline acp_list_it_t iterator_of(const data::ListPlace& at) noexcept {
    return {{at.list}, at.element, at.is_end() ? 0 : at.mark ^ stamp_mask(at.list)};
}

inline constexpr acp_list_it_t no_place = {{ACP_GA_NULL}, ACP_GA_NULL, 0};

[[nodiscard]] inline data::Lists lists() noexcept {
    return {*library().gma, *library().allocator};
}

// The lists that a call was given: one, or two.
struct ListArguments {
    // NOLINTNEXTLINE(google-explicit-constructor): a call with one list passes its address
    ListArguments(acp_ga_t list) noexcept : first(list) {}

    ListArguments(acp_ga_t list1, acp_ga_t list2) noexcept : first(list1), second(list2) {}

    acp_ga_t first;
    std::optional<acp_ga_t> second;
};

// "acp_swap_list(list 0x.. on rank 1, list 0x.. on rank 2) by rank 0 on host"
[[nodiscard]] inline base::Status named_by(const char* call,
                                           const ListArguments& lists,
                                           base::Status failure) {
    if (failure.is_ok()) return failure;
    const data::Allocator& allocator = *library().allocator;
    std::string arguments = "list " + allocator.name_of(lists.first);
    if (lists.second) arguments += ", list " + allocator.name_of(*lists.second);
    return std::move(failure).within(std::string(call) + "(" + arguments + ")" +
                                     gma::by_rank(library().member->rank()));
}

// The element that a call inserts into a list. Errors: argument (rank, a null pointer).
[[nodiscard]] base::Result<data::Lists::Element> element_of(const void* pointer,
                                                            std::size_t bytes,
                                                            int rank);

// Runs the body of a call on a list: body(lists) gives a Status; 0 or -1.
template <typename Body>
int run_on_list(const char* call, const ListArguments& list, const Body& body) noexcept {
    return run<Gravity::misuse_ends>(call, false,
                                     [&]() -> base::Status {
                                         data::Lists all = lists();
                                         return named_by(call, list, body(all));
                                     })
               ? 0
               : -1;
}

// Like run_on_list(), but body(lists) returns a Result of a value; `failed` after a failure.
template <typename Value, typename Body>
Value value_on_list(const char* call,
                    const ListArguments& list,
                    Value failed,
                    const Body& body) noexcept {
    return run<Gravity::misuse_ends>(call, failed, [&]() -> base::Result<Value> {
        data::Lists all = lists();
        auto result = body(all);
        if (!result.is_ok()) return named_by(call, list, std::move(result).failure());
        return Value(std::move(result).value());
    });
}

template <typename Body>
acp_list_it_t place_on_list(const char* call,
                            const ListArguments& list,
                            const Body& body) noexcept {
    return run<Gravity::misuse_ends>(call, no_place, [&]() -> base::Result<acp_list_it_t> {
        data::Lists all = lists();
        auto result = body(all);
        if (!result.is_ok()) return named_by(call, list, std::move(result).failure());
        return iterator_of(result.value());
    });
}

}  // namespace acp::api
