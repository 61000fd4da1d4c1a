// SPDX-License-Identifier: BSD-3-Clause
// The entry points by which a fuzzer or the replay of a corpus runs a target. Code of the unit
// tests that the targets use may report a failure to gtest: that ends the process too. One thread.
#include <gtest/gtest.h>

#include "fuzz/fuzz.hpp"

// The names are the fuzzer's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    GTEST_FLAG_SET(break_on_failure, true);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
    acp::fuzz::Input input(std::as_bytes(std::span(bytes, count)));
    acp::fuzz::run(input);
    return 0;
}

// NOLINTEND(readability-identifier-naming)
