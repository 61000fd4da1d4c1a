// SPDX-License-Identifier: BSD-3-Clause
// A put followed by an addition to a word, both on memory of one process: the mechanism of
// acp_put_signal and of segments in segmented buffers. A short one to another node is one numbered
// operation (operations/put_signal.hpp), a longer one a copy with the operation behind it. Any
// thread; blocks while there is no room for a command.
// Tests: tests/conformance/put_signal_test.cpp.
#pragma once

#include "gma/gma.hpp"

namespace acp::message {

// A thread that reads the word's new value also reads the bytes. Always returns a handle. Errors:
// see Gma::issue_signalled.
gma::Handle issue_signalled(gma::Gma& gma,
                            const gma::PointerCopy& put,
                            const gma::Signal& signal,
                            gma::Handle order);

}  // namespace acp::message
