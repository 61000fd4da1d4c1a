// SPDX-License-Identifier: BSD-3-Clause
// The operations, a loop each.
#include "team/combiner.hpp"

#include <cstring>
#include <type_traits>

#include <acp/team.h>

namespace acp::team {

namespace {

// Operations on two elements. Sums of integers wrap around, also those of signed ones.
struct Sum {
    template <typename Element>
    Element operator()(Element first, Element second) const noexcept {
        if constexpr (std::is_integral_v<Element>) {
            using Wrapping = std::make_unsigned_t<Element>;
            return static_cast<Element>(static_cast<Wrapping>(first) +
                                        static_cast<Wrapping>(second));
        } else {
            return first + second;
        }
    }
};

struct Min {
    template <typename Element>
    Element operator()(Element first, Element second) const noexcept {
        return second < first ? second : first;
    }
};

struct Max {
    template <typename Element>
    Element operator()(Element first, Element second) const noexcept {
        return first < second ? second : first;
    }
};

struct And {
    template <typename Element>
    Element operator()(Element first, Element second) const noexcept {
        return first & second;
    }
};

struct Or {
    template <typename Element>
    Element operator()(Element first, Element second) const noexcept {
        return first | second;
    }
};

struct Xor {
    template <typename Element>
    Element operator()(Element first, Element second) const noexcept {
        return first ^ second;
    }
};

template <typename Element, typename Operation>
void combine_all(void* into, const void* first, const void* second, std::uint64_t count) noexcept {
    auto* const results = static_cast<Element*>(into);
    const auto* const ones = static_cast<const Element*>(first);
    const auto* const others = static_cast<const Element*>(second);
    for (std::uint64_t i = 0; i < count; ++i) results[i] = Operation()(ones[i], others[i]);
}

}  // namespace

template <typename Element>
std::optional<Combiner> Combiner::of_type(int type, int operation) noexcept {
    const Combination combination{static_cast<std::uint8_t>(type),
                                  static_cast<std::uint8_t>(operation)};
    const auto made = [&](Function function) {
        return Combiner(function, sizeof(Element), combination);
    };
    switch (operation) {
        case ACP_SUM:
            return made(&combine_all<Element, Sum>);
        case ACP_MIN:
            return made(&combine_all<Element, Min>);
        case ACP_MAX:
            return made(&combine_all<Element, Max>);
        default:
            break;
    }
    if constexpr (std::is_integral_v<Element>) {
        if (operation == ACP_AND) return made(&combine_all<Element, And>);
        if (operation == ACP_OR) return made(&combine_all<Element, Or>);
        if (operation == ACP_XOR) return made(&combine_all<Element, Xor>);
    }
    return std::nullopt;
}

std::optional<Combiner> Combiner::of(int type, int operation) noexcept {
    switch (type) {
        case ACP_INT32:
            return of_type<std::int32_t>(type, operation);
        case ACP_UINT32:
            return of_type<std::uint32_t>(type, operation);
        case ACP_INT64:
            return of_type<std::int64_t>(type, operation);
        case ACP_UINT64:
            return of_type<std::uint64_t>(type, operation);
        case ACP_FLOAT:
            return of_type<float>(type, operation);
        case ACP_DOUBLE:
            return of_type<double>(type, operation);
        default:
            return std::nullopt;
    }
}

void Combiner::combine(void* into,
                       const void* first,
                       const void* second,
                       std::uint64_t count) const {
    if (own_ == nullptr) return function_(into, first, second, count);
    if (into != first) std::memcpy(into, first, count * element_bytes_);
    own_(into, second, count, context_);
}

}  // namespace acp::team
