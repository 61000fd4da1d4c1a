// SPDX-License-Identifier: BSD-3-Clause
// <acp/access.h>: the inline path first, then the slow path.
#include "api/boundary.hpp"
#include "api/check.hpp"
#include "api/library.hpp"
#include "gma/inline_access.hpp"

#include <acp/access.h>
#include <acp/error.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using memory::Operation;

constexpr auto plain = memory::HazardFence::compiler;

//   issue  what to call when the library is in use
template <typename Issue>
[[gnu::always_inline]] inline acp_handle_t issue_long(const char* call,
                                                      const Issue& issue) noexcept {
    const auto body = [&]() -> acp_handle_t {
        if (api::inline_line == nullptr) {
            api::open_inline_path();
        }
        return static_cast<acp_handle_t>(issue(*api::library().gma));
    };
    return api::run<Gravity::failure_ends, api::Cancellation::left>(call, ACP_HANDLE_NULL, body);
}

// The slow path of each kind: reached by a jump, so that the inline path saves no registers.
[[gnu::noinline]] acp_handle_t copy_long(acp_ga_t target,
                                         acp_ga_t source,
                                         size_t size,
                                         acp_handle_t order) noexcept {
    return issue_long("acp_copy", [=](gma::Gma& gma) {
        if (api::is_checking()) {
            api::check_overlap(gma.space(), {Operation::copy, 0, target, source, size, 0, 0});
            api::check_handle("the order of acp_copy", order);
        }
        return gma.issue_copy(target, source, size, static_cast<gma::Handle>(order));
    });
}

// copy_long() of a copy that the inline path has declined: the line names the addresses.
[[gnu::noinline]] acp_handle_t copy_declined(memory::HazardLine& line,
                                             size_t size,
                                             acp_handle_t order) noexcept {
    const acp_ga_t target = line.target.load(std::memory_order_relaxed);
    const acp_ga_t source = line.source.load(std::memory_order_relaxed);
    memory::leave(line);
    return copy_long(target, source, size, order);
}

template <typename Word, Operation operation>
[[gnu::noinline, gnu::cold]] acp_handle_t atomic_long(
    acp_ga_t target, acp_ga_t source, Word operand, Word expected, acp_handle_t order) noexcept {
    return issue_long(memory::call_name(operation, sizeof(Word)).data(), [=](gma::Gma& gma) {
        const memory::Command command{operation,    sizeof(Word), target,  source,
                                      sizeof(Word), operand,      expected};
        if (api::is_checking()) {
            api::check_overlap(gma.space(), command);
            api::check_handle("the order of an atomic", order);
        }
        return gma.issue(command, static_cast<gma::Handle>(order));
    });
}

// Issues an atomic without a target, which the inline path has declined.
template <typename Word, Operation operation>
[[gnu::noinline]] acp_handle_t bare_atomic(acp_ga_t source,
                                           Word operand,
                                           Word expected,
                                           acp_handle_t order) noexcept {
    if (memory::HazardLine* line = api::inline_line; api::is_free(line)) [[likely]] {
        Word old = 0;
        const gma::Handle handle = gma::fetch_inline<plain, Word, operation>(
            api::fast_path, *line, source, {operand, expected}, static_cast<gma::Handle>(order),
            old);
        if (handle != 0) [[likely]] {
            return static_cast<acp_handle_t>(handle);
        }
    }
    return atomic_long<Word, operation>(ACP_GA_NULL, source, operand, expected, order);
}

// Issues an atomic that the inline path has declined. Out of line, so that the inline path tests
// its target only once, and reached by a jump.
template <typename Word, Operation operation>
[[gnu::noinline, gnu::cold]] acp_handle_t go_on_with_atomic(
    acp_ga_t target, acp_ga_t source, Word operand, Word expected, acp_handle_t order) noexcept {
    return target == ACP_GA_NULL
               ? bare_atomic<Word, operation>(source, operand, expected, order)
               : atomic_long<Word, operation>(target, source, operand, expected, order);
}

template <typename Word, Operation operation>
[[gnu::always_inline]] inline acp_handle_t run_atomic(
    acp_ga_t target, acp_ga_t source, Word operand, Word expected, acp_handle_t order) noexcept {
    if (memory::HazardLine* line = api::inline_line; api::is_free(line)) [[likely]] {
        const gma::Handle handle = gma::atomic_inline<plain, Word, operation>(
            api::fast_path, *line, target, source, operand, expected,
            static_cast<gma::Handle>(order));
        if (handle != 0) [[likely]] {
            return static_cast<acp_handle_t>(handle);
        }
    }
    return go_on_with_atomic<Word, operation>(target, source, operand, expected, order);
}

template <typename Word, Operation operation>
[[gnu::noinline, gnu::cold]] Word fetch_long(const char* call,
                                             acp_ga_t source,
                                             Word operand,
                                             Word expected) noexcept {
    const auto body = [&] {
        if (api::inline_line == nullptr) {
            api::open_inline_path();
        }
        return api::library().gma->fetch(
            {operation, sizeof(Word), ACP_GA_NULL, source, sizeof(Word), operand, expected});
    };
    return static_cast<Word>(api::run<Gravity::failure_ends>(call, std::uint64_t{0}, body));
}

template <typename Word, Operation operation>
[[gnu::always_inline]] inline Word run_fetch(const char* call,
                                             acp_ga_t source,
                                             Word operand,
                                             Word expected) noexcept {
    if (memory::HazardLine* line = api::inline_line; api::is_free(line)) [[likely]] {
        Word old = 0;
        if (gma::fetch_inline<plain, Word, operation>(
                api::fast_path, *line, source, {operand, expected}, 0, old) != 0) [[likely]] {
            return old;
        }
    }
    return fetch_long<Word, operation>(call, source, operand, expected);
}

[[gnu::noinline]] int complete_long(acp_handle_t handle) noexcept {
    const bool is_ok =
        api::run<Gravity::failure_ends>("acp_complete", false, [&]() -> base::Status {
            if (api::is_checking()) api::check_handle("acp_complete", handle);
            gma::Gma& gma = *api::library().gma;
            auto first = gma.wait(static_cast<gma::Handle>(handle), node::for_ever, false);
            if (!first.is_ok()) {
                gma.drop_failures(
                    static_cast<gma::Handle>(handle));  // this call reports the first one alone
            }
            return first;
        });
    return is_ok ? 0 : -1;
}

}  // namespace

extern "C" {

[[gnu::aligned(64)]] acp_handle_t acp_copy(acp_ga_t target,
                                           acp_ga_t source,
                                           size_t size,
                                           acp_handle_t order) {
    memory::HazardLine* const line = api::inline_line;
    if (!api::is_free(line)) [[unlikely]] {
        return copy_long(target, source, size, order);
    }
    return static_cast<acp_handle_t>(gma::copy_inline<plain>(
        api::fast_path, *line, {target, source}, size, static_cast<gma::Handle>(order),
        [=] { return static_cast<gma::Handle>(copy_declined(*line, size, order)); }));
}

acp_handle_t acp_cas4(
    acp_ga_t target, acp_ga_t source, uint32_t expected, uint32_t desired, acp_handle_t order) {
    return run_atomic<std::uint32_t, Operation::compare_swap>(target, source, desired, expected,
                                                              order);
}

acp_handle_t acp_cas8(
    acp_ga_t target, acp_ga_t source, uint64_t expected, uint64_t desired, acp_handle_t order) {
    return run_atomic<std::uint64_t, Operation::compare_swap>(target, source, desired, expected,
                                                              order);
}

acp_handle_t acp_swap4(acp_ga_t target, acp_ga_t source, uint32_t value, acp_handle_t order) {
    return run_atomic<std::uint32_t, Operation::swap>(target, source, value, 0, order);
}

acp_handle_t acp_swap8(acp_ga_t target, acp_ga_t source, uint64_t value, acp_handle_t order) {
    return run_atomic<std::uint64_t, Operation::swap>(target, source, value, 0, order);
}

acp_handle_t acp_add4(acp_ga_t target, acp_ga_t source, uint32_t value, acp_handle_t order) {
    return run_atomic<std::uint32_t, Operation::add>(target, source, value, 0, order);
}

acp_handle_t acp_add8(acp_ga_t target, acp_ga_t source, uint64_t value, acp_handle_t order) {
    return run_atomic<std::uint64_t, Operation::add>(target, source, value, 0, order);
}

acp_handle_t acp_xor4(acp_ga_t target, acp_ga_t source, uint32_t value, acp_handle_t order) {
    return run_atomic<std::uint32_t, Operation::bit_xor>(target, source, value, 0, order);
}

acp_handle_t acp_xor8(acp_ga_t target, acp_ga_t source, uint64_t value, acp_handle_t order) {
    return run_atomic<std::uint64_t, Operation::bit_xor>(target, source, value, 0, order);
}

acp_handle_t acp_or4(acp_ga_t target, acp_ga_t source, uint32_t value, acp_handle_t order) {
    return run_atomic<std::uint32_t, Operation::bit_or>(target, source, value, 0, order);
}

acp_handle_t acp_or8(acp_ga_t target, acp_ga_t source, uint64_t value, acp_handle_t order) {
    return run_atomic<std::uint64_t, Operation::bit_or>(target, source, value, 0, order);
}

acp_handle_t acp_and4(acp_ga_t target, acp_ga_t source, uint32_t value, acp_handle_t order) {
    return run_atomic<std::uint32_t, Operation::bit_and>(target, source, value, 0, order);
}

acp_handle_t acp_and8(acp_ga_t target, acp_ga_t source, uint64_t value, acp_handle_t order) {
    return run_atomic<std::uint64_t, Operation::bit_and>(target, source, value, 0, order);
}

acp_handle_t acp_min4(acp_ga_t target, acp_ga_t source, int32_t value, acp_handle_t order) {
    return run_atomic<std::uint32_t, Operation::min>(target, source,
                                                     static_cast<std::uint32_t>(value), 0, order);
}

acp_handle_t acp_min8(acp_ga_t target, acp_ga_t source, int64_t value, acp_handle_t order) {
    return run_atomic<std::uint64_t, Operation::min>(target, source,
                                                     static_cast<std::uint64_t>(value), 0, order);
}

acp_handle_t acp_max4(acp_ga_t target, acp_ga_t source, int32_t value, acp_handle_t order) {
    return run_atomic<std::uint32_t, Operation::max>(target, source,
                                                     static_cast<std::uint32_t>(value), 0, order);
}

acp_handle_t acp_max8(acp_ga_t target, acp_ga_t source, int64_t value, acp_handle_t order) {
    return run_atomic<std::uint64_t, Operation::max>(target, source,
                                                     static_cast<std::uint64_t>(value), 0, order);
}

uint32_t acp_fetch_cas4(acp_ga_t source, uint32_t expected, uint32_t desired) {
    return run_fetch<std::uint32_t, Operation::compare_swap>("acp_fetch_cas4", source, desired,
                                                             expected);
}

uint64_t acp_fetch_cas8(acp_ga_t source, uint64_t expected, uint64_t desired) {
    return run_fetch<std::uint64_t, Operation::compare_swap>("acp_fetch_cas8", source, desired,
                                                             expected);
}

uint32_t acp_fetch_swap4(acp_ga_t source, uint32_t value) {
    return run_fetch<std::uint32_t, Operation::swap>("acp_fetch_swap4", source, value, 0);
}

uint64_t acp_fetch_swap8(acp_ga_t source, uint64_t value) {
    return run_fetch<std::uint64_t, Operation::swap>("acp_fetch_swap8", source, value, 0);
}

uint32_t acp_fetch_add4(acp_ga_t source, uint32_t value) {
    return run_fetch<std::uint32_t, Operation::add>("acp_fetch_add4", source, value, 0);
}

uint64_t acp_fetch_add8(acp_ga_t source, uint64_t value) {
    return run_fetch<std::uint64_t, Operation::add>("acp_fetch_add8", source, value, 0);
}

uint32_t acp_fetch_xor4(acp_ga_t source, uint32_t value) {
    return run_fetch<std::uint32_t, Operation::bit_xor>("acp_fetch_xor4", source, value, 0);
}

uint64_t acp_fetch_xor8(acp_ga_t source, uint64_t value) {
    return run_fetch<std::uint64_t, Operation::bit_xor>("acp_fetch_xor8", source, value, 0);
}

uint32_t acp_fetch_or4(acp_ga_t source, uint32_t value) {
    return run_fetch<std::uint32_t, Operation::bit_or>("acp_fetch_or4", source, value, 0);
}

uint64_t acp_fetch_or8(acp_ga_t source, uint64_t value) {
    return run_fetch<std::uint64_t, Operation::bit_or>("acp_fetch_or8", source, value, 0);
}

uint32_t acp_fetch_and4(acp_ga_t source, uint32_t value) {
    return run_fetch<std::uint32_t, Operation::bit_and>("acp_fetch_and4", source, value, 0);
}

uint64_t acp_fetch_and8(acp_ga_t source, uint64_t value) {
    return run_fetch<std::uint64_t, Operation::bit_and>("acp_fetch_and8", source, value, 0);
}

int32_t acp_fetch_min4(acp_ga_t source, int32_t value) {
    return static_cast<std::int32_t>(run_fetch<std::uint32_t, Operation::min>(
        "acp_fetch_min4", source, static_cast<std::uint32_t>(value), 0));
}

int64_t acp_fetch_min8(acp_ga_t source, int64_t value) {
    return static_cast<std::int64_t>(run_fetch<std::uint64_t, Operation::min>(
        "acp_fetch_min8", source, static_cast<std::uint64_t>(value), 0));
}

int32_t acp_fetch_max4(acp_ga_t source, int32_t value) {
    return static_cast<std::int32_t>(run_fetch<std::uint32_t, Operation::max>(
        "acp_fetch_max4", source, static_cast<std::uint32_t>(value), 0));
}

int64_t acp_fetch_max8(acp_ga_t source, int64_t value) {
    return static_cast<std::int64_t>(run_fetch<std::uint64_t, Operation::max>(
        "acp_fetch_max8", source, static_cast<std::uint64_t>(value), 0));
}

static_assert(
    memory::operation_count == 9,
    "an operation is offered by four functions above, which include/acp/access.h declares");

[[gnu::aligned(64)]] int acp_complete(acp_handle_t handle) {
    // acquire: the writes of the completed commands are visible
    const gma::Handle below = api::fast_path.marks.complete_below.load(std::memory_order_acquire);
    if (static_cast<gma::Handle>(handle) < below) [[likely]] {
        return 0;
    }
    return complete_long(handle);
}

int acp_inquire(acp_handle_t handle) {
    const gma::Handle below = api::fast_path.marks.complete_below.load(std::memory_order_acquire);
    if (static_cast<gma::Handle>(handle) < below) {
        return 0;
    }
    return api::run<Gravity::misuse_ends>("acp_inquire", -1, [&] {
        if (api::is_checking()) api::check_handle("acp_inquire", handle);
        return api::library().gma->is_complete(static_cast<gma::Handle>(handle)) ? 0 : 1;
    });
}

int acp_wait(acp_handle_t handle, int64_t timeout_ns) {
    const bool is_ok = api::run<Gravity::reported>("acp_wait", false, [&] {
        if (api::is_checking()) api::check_handle("acp_wait", handle);
        return api::library().gma->wait(static_cast<gma::Handle>(handle), timeout_ns, true);
    });
    return is_ok ? ACP_OK : acp_errno();
}

int acp_wait_source(acp_handle_t handle) {
    const gma::Handle below = api::fast_path.marks.complete_below.load(std::memory_order_acquire);
    if (static_cast<gma::Handle>(handle) < below) return 0;
    return api::run<Gravity::misuse_ends>("acp_wait_source", -1, [&] {
        if (api::is_checking()) api::check_handle("acp_wait_source", handle);
        api::library().gma->wait_for_sources(static_cast<gma::Handle>(handle));
        return 0;
    });
}

acp_path_t acp_path(acp_ga_t target, acp_ga_t source) {
    const acp_path_t failed = {"none", -1};
    return api::run<Gravity::misuse_ends>("acp_path", failed, [&]() -> acp_path_t {
        const gma::Path path = api::library().gma->path(target, source);
        return {path.name, path.must_owner_help ? 1 : 0};
    });
}
}
