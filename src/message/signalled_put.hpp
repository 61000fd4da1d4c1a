// SPDX-License-Identifier: BSD-3-Clause
// A put and an addition to a word behind it, on memory of one process: how acp_put_signal and the segments of segmented buffers travel.
// To another node short ones go in one numbered operation (operations/put_signal.hpp). Any thread; blocks while there is no room for
// a command. Tests: tests/conformance/put_signal_test.cpp.
#pragma once

#include "gma/gma.hpp"

namespace acp::message {

// Whoever sees the word's new value sees the bytes. Always returns a handle. Errors: as Gma::issue_signalled.
gma::Handle issue_signalled(gma::Gma& gma,
                            const gma::PointerCopy& put,
                            const gma::Signal& signal,
                            gma::Handle order);

}  // namespace acp::message
