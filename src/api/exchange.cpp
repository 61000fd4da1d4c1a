// SPDX-License-Identifier: BSD-3-Clause
// <acp/exchange.h>.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "api/boundary.hpp"
#include "api/ends.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "api/team_calls.hpp"
#include "base/format.hpp"
#include "exchange/grid_halo.hpp"
#include "gma/commands.hpp"

#include <acp/exchange.h>

#include "execution/plans.hpp"

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::handle_of;
using api::library;
using api::number_of;
using base::Result;
using base::Status;
using execution::NeighbourPiece;
using execution::Pattern;
using execution::Plans;

// "acp_wait_plan(0x100000001) by rank 0 on host"
template <typename Handle>
Status named(const char* call, Handle handle, Status failure) {
    return std::move(failure).within(std::string(call) + "(" + base::hex(number_of(handle)) + ")" +
                                     gma::by_rank(library().member->rank()));
}

// Runs body(plans), which returns a Status, as a call that returns 0 or -1.
template <typename Handle, typename Body>
int run_status(const char* call, Handle handle, const Body& body) noexcept {
    return api::run<Gravity::misuse_ends>(call, -1, [&]() -> Result<int> {
        Status status = body(*library().plans);
        if (!status.is_ok()) [[unlikely]]
            return named(call, handle, std::move(status));
        return 0;
    });
}

// Calls add(pattern) on a pattern.
template <typename Add>
int add_to(const char* call, acp_pattern_t pattern, const Add& add) noexcept {
    return run_status(call, pattern,
                      [&](Plans& plans) { return plans.add(number_of(pattern), add); });
}

Result<exchange::GridShape> shape_of(const acp_grid_t* grid) {
    if (grid == nullptr) return Status(base::Code::argument, "grid is NULL");
    const char* const null = grid->members == nullptr  ? "members"
                             : grid->points == nullptr ? "points"
                             : grid->halo == nullptr   ? "halo"
                                                       : nullptr;
    if (null != nullptr)
        return Status(base::Code::argument, std::string("the grid's list ") + null + " is NULL");
    const int most = static_cast<int>(exchange::grid_dimensions_max);
    if (grid->dimensions < 1 || grid->dimensions > most || grid->reach < 1) {
        return Status(base::Code::argument, "dimensions is " + std::to_string(grid->dimensions) +
                                                " and reach " + std::to_string(grid->reach) +
                                                ": dimensions is 1 .. " + std::to_string(most) +
                                                ", and reach 1 or more");
    }
    exchange::GridShape shape;
    shape.point_bytes = grid->point_size;
    shape.reach = static_cast<std::uint32_t>(grid->reach);
    for (int d = 0; d < grid->dimensions; ++d) {
        if (grid->members[d] < 1) {
            return Status(base::Code::argument, "dimension " + std::to_string(d) + " has " +
                                                    std::to_string(grid->members[d]) +
                                                    " members: it has 1 or more");
        }
        shape.axes.push_back({static_cast<std::uint32_t>(grid->members[d]),
                              grid->periodic != nullptr && grid->periodic[d] != 0, grid->points[d],
                              grid->halo[d]});
    }
    return shape;
}

Result<std::vector<NeighbourPiece>> pieces_of(const char* name, const acp_neighbours_t* list) {
    if (list != nullptr && list->count < 0) {
        return Status(base::Code::argument, "the count of " + std::string(name) + " is " +
                                                std::to_string(list->count) + ": it is 0 or more");
    }
    if (list == nullptr) return Status(base::Code::argument, std::string(name) + " is NULL");
    const char* const null = list->count == 0           ? nullptr
                             : list->shifts == nullptr  ? "shifts"
                             : list->sizes == nullptr   ? "sizes"
                             : list->offsets == nullptr ? "offsets"
                                                        : nullptr;
    if (null != nullptr) {
        return Status(base::Code::argument, "the list " + std::string(null) + " of " + name +
                                                " is NULL, and its count is " +
                                                std::to_string(list->count));
    }
    if (list->count > ACP_PATTERN_MESSAGES_MAX) {
        return Status(base::Code::limit, std::string(name) + " has " + std::to_string(list->count) +
                                             " pieces; a pattern has at most " +
                                             std::to_string(ACP_PATTERN_MESSAGES_MAX) +
                                             " messages");
    }
    std::vector<NeighbourPiece> pieces;
    pieces.reserve(static_cast<std::size_t>(list->count));
    for (int i = 0; i < list->count; ++i)
        pieces.push_back({list->shifts[i], list->offsets[i], list->sizes[i]});
    return pieces;
}

}  // namespace

static_assert(ACP_PATTERN_MESSAGES_MAX == execution::messages_max);

extern "C" {

acp_pattern_t acp_create_pattern(acp_team_t team) {
    constexpr const char* call = "acp_create_pattern";
    return api::run<Gravity::misuse_ends>(call, ACP_PATTERN_NULL, [&]() -> Result<acp_pattern_t> {
        auto made = library().plans->make_pattern(number_of(team));
        if (!made.is_ok()) return named(call, team, std::move(made).failure());
        return handle_of<acp_pattern_t>(made.value());
    });
}

int acp_add_send_pattern(acp_pattern_t pattern, int shift, const void* source, size_t size) {
    return add_to("acp_add_send_pattern", pattern, [&](Pattern& to) -> Status {
        Status status = api::refuse_shared("source", source, size);
        return status.is_ok() ? to.add_send(shift, source, size) : std::move(status);
    });
}

int acp_add_recv_pattern(acp_pattern_t pattern, int shift, void* target, size_t size) {
    return add_to("acp_add_recv_pattern", pattern, [&](Pattern& to) -> Status {
        Status status = api::refuse_shared("target", target, size);
        return status.is_ok() ? to.add_receive(shift, target, size) : std::move(status);
    });
}

int acp_add_copy_pattern(acp_pattern_t pattern, acp_ga_t target, const void* source, size_t size) {
    return add_to("acp_add_copy_pattern", pattern, [&](Pattern& to) -> Status {
        if (Status status = api::refuse_shared("source", source, size); !status.is_ok())
            return status;
        return to.add_copy(library().gma->space(), target, source, size);
    });
}

int acp_add_halo_pattern(acp_pattern_t pattern, void* array, const acp_grid_t* grid) {
    return add_to("acp_add_halo_pattern", pattern, [&](Pattern& to) -> Status {
        if (api::is_in_shared_range(array)) return api::in_shared_range("array");
        auto shape = shape_of(grid);
        return shape.is_ok() ? to.add_halo(shape.value(), array) : std::move(shape).failure();
    });
}

int acp_add_alltoallv_pattern(acp_pattern_t pattern,
                              const void* source,
                              const acp_neighbours_t* to,
                              void* target,
                              const acp_neighbours_t* from) {
    return add_to("acp_add_alltoallv_pattern", pattern, [&](Pattern& added_to) -> Status {
        if (api::is_in_shared_range(source)) return api::in_shared_range("source");
        if (api::is_in_shared_range(target)) return api::in_shared_range("target");
        auto sent = pieces_of("to", to);
        if (!sent.is_ok()) return std::move(sent).failure();
        auto received = pieces_of("from", from);
        if (!received.is_ok()) return std::move(received).failure();
        return added_to.add_neighbours(source, sent.value(), target, received.value());
    });
}

int acp_free_pattern(acp_pattern_t pattern) {
    return run_status("acp_free_pattern", pattern,
                      [&](Plans& plans) { return plans.free_pattern(number_of(pattern)); });
}

acp_plan_t acp_compile_pattern(acp_pattern_t pattern, const char* network) {
    constexpr const char* call = "acp_compile_pattern";
    return api::run<Gravity::misuse_ends>(call, ACP_PLAN_NULL, [&]() -> Result<acp_plan_t> {
        auto made = library().plans->compile(number_of(pattern), network);
        if (!made.is_ok()) return named(call, pattern, std::move(made).failure());
        return handle_of<acp_plan_t>(made.value());
    });
}

int acp_save_plan(acp_plan_t plan, const char* path) {
    return run_status("acp_save_plan", plan,
                      [&](Plans& plans) { return plans.save(number_of(plan), path); });
}

acp_plan_t acp_load_plan(acp_pattern_t pattern, const char* path) {
    constexpr const char* call = "acp_load_plan";
    return api::run<Gravity::misuse_ends>(call, ACP_PLAN_NULL, [&]() -> Result<acp_plan_t> {
        auto made = library().plans->load(number_of(pattern), path);
        if (!made.is_ok()) return named(call, pattern, std::move(made).failure());
        return handle_of<acp_plan_t>(made.value());
    });
}

int acp_start_plan(acp_plan_t plan) {
    return run_status("acp_start_plan", plan,
                      [&](Plans& plans) { return plans.start(number_of(plan)); });
}

int acp_test_plan(acp_plan_t plan) {
    constexpr const char* call = "acp_test_plan";
    return api::run<Gravity::misuse_ends>(call, -1, [&]() -> Result<int> {
        auto ended = library().plans->test(number_of(plan));
        if (!ended.is_ok()) return named(call, plan, std::move(ended).failure());
        return ended.value() ? 1 : 0;
    });
}

int acp_wait_plan(acp_plan_t plan) {
    return run_status("acp_wait_plan", plan,
                      [&](Plans& plans) { return plans.wait(number_of(plan)); });
}

int acp_explain_plan(acp_plan_t plan, char* text, size_t size) {
    constexpr const char* call = "acp_explain_plan";
    return api::run<Gravity::misuse_ends>(call, -1, [&]() -> Result<int> {
        if (text == nullptr && size != 0) {
            return named(
                call, plan,
                {base::Code::argument, "text is NULL, and size is " + std::to_string(size)});
        }
        auto words = library().plans->explain(number_of(plan));
        if (!words.is_ok()) return named(call, plan, std::move(words).failure());
        if (size != 0) {
            const std::size_t bytes = std::min(size - 1, words.value().size());
            std::memcpy(text, words.value().data(), bytes);
            text[bytes] = '\0';
        }
        return static_cast<int>(words.value().size());
    });
}

int acp_free_plan(acp_plan_t plan) {
    return run_status("acp_free_plan", plan,
                      [&](Plans& plans) { return plans.free_plan(number_of(plan)); });
}

}  // extern "C"
