// SPDX-License-Identifier: BSD-3-Clause
// Finds the most frequent destinations in a stream of sends with a few counters: Misra and Gries, Finding
// repeated elements (1982). A destination of more than one in (counters + 1) sends is found for sure; if all
// destinations are equally frequent, none is. Pure; one thread. Tests: tests/unit/engine/frequent_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "datagram/address.hpp"

namespace acp::engine {

class FrequentDestinations {
public:
    static constexpr std::uint32_t counters = 4;
    static constexpr std::uint32_t frequent = 64;  // sends ahead of the others

    // Notes one send; true when the destination has become frequent. Its count begins anew then.
    [[nodiscard]] bool note(const datagram::Address& to) noexcept {
        Counter* free = nullptr;
        for (Counter& one : counters_) {
            if (one.sends != 0 && one.to == to) {
                if (++one.sends < frequent) return false;
                one.sends = 0;
                return true;
            }
            if (one.sends == 0) free = &one;
        }
        if (free != nullptr) {
            *free = {to, 1};
        } else {
            for (Counter& one : counters_) --one.sends;
        }
        return false;
    }

private:
    struct Counter {
        datagram::Address to;
        std::uint32_t sends = 0;
    };

    std::array<Counter, counters> counters_;
};

}  // namespace acp::engine
