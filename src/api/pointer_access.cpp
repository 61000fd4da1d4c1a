// SPDX-License-Identifier: BSD-3-Clause
// acp_put, acp_put_copied, acp_get and acp_put_signal: the inline path first, then the slow path.
#include "api/boundary.hpp"
#include "api/check.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "gma/inline_access.hpp"
#include "message/signalled_put.hpp"

#include <acp/access.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;

constexpr auto plain = memory::HazardFence::compiler;

// Shared pages are used in the plain mapping. Returns false if that cannot be done.
bool open_end(const char* call, gma::LocalEnds::End& end) {
    if (!api::is_in_shared_range(end.memory)) [[likely]]
        return true;
    return api::open_pointer(call, end.memory, end.bytes,
                             end.is_get ? api::PointerUse::written : api::PointerUse::read);
}

// Issues a command that the inline path has declined.
//   issue  what to call when the library is in use
template <typename Issue>
[[gnu::always_inline]] inline acp_handle_t issue_long(const char* call,
                                                      acp_handle_t order,
                                                      const Issue& issue) noexcept {
    const auto body = [&]() -> acp_handle_t {
        if (api::inline_line == nullptr) api::open_inline_path();
        if (api::is_checking()) api::check_handle("the order of a put or a get", order);
        return static_cast<acp_handle_t>(issue(*api::library().gma));
    };
    return api::run<Gravity::failure_ends, api::Cancellation::left>(call, ACP_HANDLE_NULL, body);
}

template <bool is_get>
[[gnu::noinline]] acp_handle_t pointer_long(acp_ga_t address,
                                            char* pointer,
                                            std::size_t bytes,
                                            acp_handle_t order) noexcept {
    constexpr const char* call = is_get ? "acp_get" : "acp_put";
    return issue_long(call, order, [=](gma::Gma& gma) {
        gma::PointerCopy copy{address,
                              {pointer, bytes, is_get},
                              is_get ? memory::IssuedBy::get : memory::IssuedBy::put};
        if (!open_end(call, copy.end)) return gma::handle_null;
        if (api::is_checking()) api::check_overlap(gma.space(), copy);
        return gma.issue_pointer(copy, static_cast<gma::Handle>(order));
    });
}

// pointer_long() of a copy that the inline path has declined: the line names the address.
template <bool is_get>
[[gnu::noinline]] acp_handle_t pointer_declined(memory::HazardLine& line,
                                                char* pointer,
                                                std::size_t bytes,
                                                acp_handle_t order) noexcept {
    const acp_ga_t address = line.target.load(std::memory_order_relaxed);
    memory::leave(line);
    return pointer_long<is_get>(address, pointer, bytes, order);
}

template <bool is_get>
[[gnu::always_inline]] inline acp_handle_t run_pointer(acp_ga_t address,
                                                       char* pointer,
                                                       std::size_t bytes,
                                                       acp_handle_t order) noexcept {
    memory::HazardLine* const line = api::inline_line;
    if (!api::is_free(line) || pointer == nullptr) [[unlikely]] {
        return pointer_long<is_get>(address, pointer, bytes, order);
    }
    return static_cast<acp_handle_t>(gma::pointer_inline<plain, is_get>(
        api::fast_path, *line, address, {pointer, bytes}, static_cast<gma::Handle>(order), [=] {
            return static_cast<gma::Handle>(pointer_declined<is_get>(*line, pointer, bytes, order));
        }));
}

// acp_put_copied if the inline path has not moved the bytes.
[[gnu::noinline]] acp_handle_t copied_long(acp_ga_t address,
                                           char* pointer,
                                           std::size_t bytes,
                                           acp_handle_t order) noexcept {
    return issue_long("acp_put_copied", order, [=](gma::Gma& gma) {
        gma::PointerCopy copy{address, {pointer, bytes, false}, memory::IssuedBy::put_copied};
        if (!open_end("acp_put_copied", copy.end)) return gma::handle_null;
        if (api::is_checking()) api::check_overlap(gma.space(), copy);
        return gma.issue_pointer(copy, static_cast<gma::Handle>(order));
    });
}

// Called by the inline path when it declines: clears the thread's hazard line.
gma::Handle declined(memory::HazardLine& line) noexcept {
    memory::leave(line);
    return gma::handle_null;
}

// A put is only read from.
char* as_end(const void* source) noexcept {
    return static_cast<char*>(const_cast<void*>(source));
}

// The add behind a put that the inline path has run.
[[gnu::noinline]] acp_handle_t signal_long(const gma::Signal& signal) noexcept {
    return issue_long("acp_put_signal", ACP_HANDLE_NULL, [&](gma::Gma& gma) {
        return gma.issue(gma::PointerIssuer::add_of(signal), gma::handle_null);
    });
}

[[gnu::noinline]] acp_handle_t signalled_long(const gma::PointerCopy& put,
                                              const gma::Signal& signal,
                                              acp_handle_t order) noexcept {
    return issue_long("acp_put_signal", order, [&](gma::Gma& gma) {
        gma::PointerCopy opened = put;
        if (!open_end("acp_put_signal", opened.end)) return gma::handle_null;
        if (api::is_checking()) {
            api::check_overlap(gma.space(), opened);
            api::check_signal(gma.space(), opened, signal);
        }
        return message::issue_signalled(gma, opened, signal, static_cast<gma::Handle>(order));
    });
}

}  // namespace

extern "C" {

[[gnu::aligned(64)]] acp_handle_t acp_put(acp_ga_t target,
                                          const void* source,
                                          size_t size,
                                          acp_handle_t order) {
    return run_pointer<false>(target, as_end(source), size, order);
}

[[gnu::aligned(64)]] acp_handle_t acp_get(void* target,
                                          acp_ga_t source,
                                          size_t size,
                                          acp_handle_t order) {
    return run_pointer<true>(source, static_cast<char*>(target), size, order);
}

acp_handle_t acp_put_copied(acp_ga_t target, const void* source, size_t size, acp_handle_t order) {
    memory::HazardLine* const line = api::inline_line;
    if (api::is_free(line) && source != nullptr) [[likely]] {
        const gma::Handle handle = gma::pointer_inline<plain, false>(
            api::fast_path, *line, target, {as_end(source), size}, static_cast<gma::Handle>(order),
            [line] { return declined(*line); });
        if (handle != gma::handle_null) [[likely]]
            return static_cast<acp_handle_t>(handle);
    }
    return copied_long(target, as_end(source), size, order);
}

acp_handle_t acp_put_signal(acp_ga_t target,
                            const void* source,
                            size_t size,
                            acp_ga_t signal,
                            uint64_t value,
                            acp_handle_t order) {
    if (memory::HazardLine* line = api::inline_line; api::is_free(line) && source != nullptr)
        [[likely]] {
        if (gma::pointer_inline<plain, false>(api::fast_path, *line, target, {as_end(source), size},
                                              static_cast<gma::Handle>(order),
                                              [line] { return declined(*line); }) != 0) {
            std::uint64_t old = 0;
            const gma::Handle handle =
                gma::fetch_inline<plain, std::uint64_t, memory::Operation::add>(
                    api::fast_path, *line, signal, {value, 0}, 0, old);
            return handle != 0 ? static_cast<acp_handle_t>(handle) : signal_long({signal, value});
        }
    }
    return signalled_long({target, {as_end(source), size, false}, memory::IssuedBy::put_signal},
                          {signal, value}, order);
}
}
