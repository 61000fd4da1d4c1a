// SPDX-License-Identifier: BSD-3-Clause
// acp_copy_v and acp_copy_strided.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "api/boundary.hpp"
#include "api/check.hpp"
#include "api/library.hpp"

#include <acp/access.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;

// Copies each of the ranges that range(i) gives, for i = 0 .. count - 1 in this order.
template <typename Range>
gma::Handle copy_list(memory::IssuedBy call,
                      std::uint64_t count,
                      const Range& range,
                      acp_handle_t order) {
    return api::library().gma->copy_list(call, count, range, static_cast<gma::Handle>(order));
}

// The checks of ACP_CHECK before the list is issued.   range  see copy_list()
template <typename Range>
[[gnu::cold, gnu::noinline]] void check_list(const char* call,
                                             std::uint64_t count,
                                             const Range& range,
                                             acp_handle_t order) {
    api::check_handle("the order of a copy by list", order);
    api::ListCheck check(api::library().gma->space(), call);
    for (std::uint64_t i = 0; i < count; ++i) {
        const acp_copy_range_t next = range(i);
        check.add(next.target, next.source, next.size);
    }
    check.finish();
}

template <typename Body>
acp_handle_t issue(const char* call, const Body& body) noexcept {
    return api::run<Gravity::failure_ends>(
        call, ACP_HANDLE_NULL, [&]() -> acp_handle_t { return static_cast<acp_handle_t>(body()); });
}

gma::Handle refuse(const char* call, const std::string& why) {
    return api::library().gma->fail({base::Code::argument, call + (": " + why)});
}

// The layout of a block's pieces, innermost dimension first.
struct Block {
    acp_ga_t target;
    acp_ga_t source;
    std::size_t size;
    std::size_t dimensions;
    const std::ptrdiff_t* target_strides;
    const std::ptrdiff_t* source_strides;
    const std::size_t* counts;

    // nullopt: the number overflows.
    [[nodiscard]] std::optional<std::uint64_t> pieces() const noexcept {
        std::uint64_t pieces = 1;
        bool is_countable = true;
        for (std::size_t i = 0; i < dimensions; ++i) {
            if (counts[i] == 0) return 0;
            is_countable = !__builtin_mul_overflow(pieces, counts[i], &pieces) && is_countable;
        }
        return is_countable ? std::optional(pieces) : std::nullopt;
    }
};

// The pieces of a block one after the other.
class Walk {
public:
    explicit Walk(const Block& block) noexcept
        : block_(block), here_{block.target, block.source, block.size} {}

    acp_copy_range_t next() noexcept {
        const acp_copy_range_t piece = here_;
        for (std::size_t i = 0; i < block_.dimensions; ++i) {
            step(i, 1);
            if (++at_[i] < block_.counts[i]) break;
            step(i, -static_cast<std::ptrdiff_t>(at_[i]));
            at_[i] = 0;
        }
        return piece;
    }

private:
    void step(std::size_t dimension, std::ptrdiff_t times) noexcept {
        here_.target += static_cast<acp_ga_t>(times * block_.target_strides[dimension]);
        here_.source += static_cast<acp_ga_t>(times * block_.source_strides[dimension]);
    }

    const Block& block_;
    acp_copy_range_t here_;
    std::array<std::size_t, ACP_DIMENSIONS_MAX> at_{};
};

}  // namespace

extern "C" {

acp_handle_t acp_copy_v(const acp_copy_range_t* ranges, size_t count, acp_handle_t order) {
    return issue("acp_copy_v", [=] {
        if (ranges == nullptr && count != 0) {
            return refuse("acp_copy_v", "ranges is NULL, and count is " + std::to_string(count));
        }
        const auto range = [ranges](std::uint64_t i) { return ranges[i]; };
        if (api::is_checking()) check_list("acp_copy_v", count, range, order);
        return copy_list(memory::IssuedBy::list, count, range, order);
    });
}

// NOLINTBEGIN(readability-function-size): two sides of a block, each with its strides
acp_handle_t acp_copy_strided(acp_ga_t target,
                              const ptrdiff_t* target_strides,
                              acp_ga_t source,
                              const ptrdiff_t* source_strides,
                              size_t size,
                              const size_t* counts,
                              int dimensions,
                              acp_handle_t order) {
    return issue("acp_copy_strided", [=] {
        if (dimensions < 0 || dimensions > ACP_DIMENSIONS_MAX) {
            return refuse("acp_copy_strided", std::to_string(dimensions) +
                                                  " dimensions, which must be 0 .. " +
                                                  std::to_string(ACP_DIMENSIONS_MAX));
        }
        if (dimensions != 0 &&
            (counts == nullptr || target_strides == nullptr || source_strides == nullptr)) {
            return refuse("acp_copy_strided", "the counts or strides are NULL");
        }
        const Block block{
            target,         source,         size,  static_cast<std::size_t>(dimensions),
            target_strides, source_strides, counts};
        const auto pieces = block.pieces();
        if (!pieces) return refuse("acp_copy_strided", "the counts multiply to 2^64 or more");
        if (api::is_checking()) {
            Walk looked_at(block);
            check_list(
                "acp_copy_strided", *pieces,
                [&looked_at](std::uint64_t) { return looked_at.next(); }, order);
        }
        Walk walk(block);
        return copy_list(
            memory::IssuedBy::block, *pieces, [&walk](std::uint64_t) { return walk.next(); },
            order);
    });
}

// NOLINTEND(readability-function-size)
}
