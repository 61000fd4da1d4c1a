// SPDX-License-Identifier: BSD-3-Clause
// Atomics that wait for themselves and give the word's old value (acp_fetch_...), on words that are
// not mapped here. Any thread. Tests: tests/unit/gma/gma_test.cpp,
// tests/conformance/fetch_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "gma/completion.hpp"
#include "gma/fetch_words.hpp"
#include "gma/issuer.hpp"
#include "gma/service_thread.hpp"
#include "local/registry.hpp"

namespace acp::gma {

class Fetcher {
public:
    //   words  for old values;   all others must outlive this
    Fetcher(FetchWords::WordsPlace words,
            Issuer& issuer,
            Completion& completion,
            local::Registry& registry,
            ServiceThread& service) noexcept
        : words_(words),
          issuer_(issuer),
          completion_(completion),
          registry_(registry),
          service_(service) {}

    // Runs an atomic without a target and waits for it alone. Returns the word's old value.
    // Errors: of the command; limit, where all words for old values are taken (fetch_words.hpp) and
    // none can be registered.
    base::Result<std::uint64_t> fetch(Command command);

private:
    base::Result<std::uint64_t> fetch_into_registered_word(Command command);

    FetchWords words_;
    Issuer& issuer_;
    Completion& completion_;
    local::Registry& registry_;
    ServiceThread& service_;
};

}  // namespace acp::gma
