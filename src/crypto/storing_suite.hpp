// SPDX-License-Identifier: BSD-3-Clause
// The base of the cipher suites: memory for secrets, from a store that each suite has. One thread.
#pragma once

#include <cstddef>

#include "crypto/secret_store.hpp"
#include "datagram/cipher.hpp"

namespace acp::crypto {

class StoringSuite : public datagram::CipherSuite {
public:
    [[nodiscard]] datagram::MutableBytes take_secret_memory(std::size_t bytes) noexcept final {
        return store_.take(bytes);
    }

    void give_back_secret_memory(datagram::MutableBytes memory) noexcept final {
        store_.give_back(memory);
    }

private:
    SecretStore store_;
};

}  // namespace acp::crypto
