// SPDX-License-Identifier: BSD-3-Clause
// The operations, one loop each.
#include "team/combiner.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <acp/team.h>

namespace acp::team {

namespace {

// Operations on two elements. Integer sums wrap around, signed ones too.
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

// Indexed by type, from 1, and operation, from ACP_SUM. An operation that a type does not have is a
// Combiner without a function.
struct Combiner::Table {
    static constexpr std::size_t types = ACP_DOUBLE + 1;
    static constexpr std::size_t operations = ACP_XOR - ACP_SUM + 1;
    using Row = std::array<Combiner, operations>;

    template <typename Element>
    static constexpr Row row_of(std::uint8_t type) noexcept {
        Row row;
        const auto set = [&](int operation, Function function) {
            row[static_cast<std::size_t>(operation - ACP_SUM)] =
                Combiner(function, sizeof(Element), {type, static_cast<std::uint8_t>(operation)});
        };
        set(ACP_SUM, &combine_all<Element, Sum>);
        set(ACP_MIN, &combine_all<Element, Min>);
        set(ACP_MAX, &combine_all<Element, Max>);
        if constexpr (std::is_integral_v<Element>) {
            set(ACP_AND, &combine_all<Element, And>);
            set(ACP_OR, &combine_all<Element, Or>);
            set(ACP_XOR, &combine_all<Element, Xor>);
        }
        return row;
    }
};

const Combiner* Combiner::of(int type, int operation) noexcept {
    static constexpr std::array<Table::Row, Table::types> table{
        Table::Row{},
        Table::row_of<std::int32_t>(ACP_INT32),
        Table::row_of<std::uint32_t>(ACP_UINT32),
        Table::row_of<std::int64_t>(ACP_INT64),
        Table::row_of<std::uint64_t>(ACP_UINT64),
        Table::row_of<float>(ACP_FLOAT),
        Table::row_of<double>(ACP_DOUBLE)};
    static_assert(int{ACP_SUM} > int{ACP_DOUBLE},
                  "a type is no operation, so that swapped ones are refused");
    if (type < 0 || type >= static_cast<int>(Table::types) || operation < ACP_SUM ||
        operation > ACP_XOR) {
        return nullptr;
    }
    const Combiner& found =
        table[static_cast<std::size_t>(type)][static_cast<std::size_t>(operation - ACP_SUM)];
    return found.function_ != nullptr ? &found : nullptr;
}

void Combiner::combine(void* into,
                       const void* first,
                       const void* second,
                       std::uint64_t count) const {
    if (count == 0)
        return;  // the program's function may assume elements, and there may be no buffers
    if (own_ == nullptr) return function_(into, first, second, count);
    if (into != first) std::memcpy(into, first, count * element_bytes_);
    own_(into, second, count, context_);
}

}  // namespace acp::team
