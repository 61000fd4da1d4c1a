// SPDX-License-Identifier: BSD-3-Clause
// The base of cipher suites without cryptographic worth, for simulations and tests: the memory for
// their secrets is ordinary memory. Any thread.
// Tests: tests/unit/sim/cipher_test.cpp.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>

#include "datagram/cipher.hpp"

namespace acp::sim {

class UnprotectedSuite : public datagram::CipherSuite {
public:
    [[nodiscard]] datagram::MutableBytes take_secret_memory(std::size_t bytes) noexcept final {
        const std::size_t rounded = (bytes + 63) / 64 * 64;
        auto* memory =
            static_cast<std::byte*>(::operator new (rounded, std::align_val_t{64}, std::nothrow));
        if (memory == nullptr) return {};
        std::memset(memory, 0, rounded);
        return {memory, bytes};
    }

    void give_back_secret_memory(datagram::MutableBytes memory) noexcept final {
        std::memset(memory.data(), 0, memory.size());
        ::operator delete (memory.data(), std::align_val_t{64});
    }
};

}  // namespace acp::sim
