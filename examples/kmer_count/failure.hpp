// SPDX-License-Identifier: BSD-3-Clause
// The two reasons for which a rank leaves its work early. Failure is this rank's own: it carries the
// sentence the user will read. Stopped says that some rank has failed and that all ranks know; on rank 0,
// which speaks for the job, it carries that rank's sentence.
#pragma once

#include <stdexcept>

namespace kmer {

class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Stopped : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace kmer
