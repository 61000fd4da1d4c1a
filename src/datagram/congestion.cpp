// SPDX-License-Identifier: BSD-3-Clause
// Makes the congestion control that a setting names. Any thread.
#include "datagram/congestion.hpp"

#include <new>

#include "datagram/congestion_delay.hpp"
#include "datagram/cubic.hpp"
#include "datagram/new_reno.hpp"

namespace acp::datagram {

std::unique_ptr<Congestion> make_congestion(base::CongestionAlgorithm control,
                                            std::uint32_t datagram_bytes) {
    std::unique_ptr<Congestion> made;
    switch (control) {
        case base::CongestionAlgorithm::delay:
            made.reset(new (std::nothrow) CongestionDelay(datagram_bytes));
            break;
        case base::CongestionAlgorithm::new_reno:
            made.reset(new (std::nothrow) NewReno(datagram_bytes));
            break;
        case base::CongestionAlgorithm::cubic:
            made.reset(new (std::nothrow) Cubic(datagram_bytes));
            break;
    }
    return made;
}

}  // namespace acp::datagram
