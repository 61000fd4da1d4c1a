// SPDX-License-Identifier: BSD-3-Clause
// How a call of a function of a worker process has ended.
#pragma once

#include <cstdint>

#include "call/ring.hpp"

namespace acp::offload {

struct CallResult {
    call::CallEnd end = call::CallEnd::returned;
    std::uint64_t value =
        0;  // of a function that has returned; of one that has faulted, the signal
};

}  // namespace acp::offload
