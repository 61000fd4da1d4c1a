// SPDX-License-Identifier: BSD-3-Clause
// The two reasons for which a rank leaves its work early. Failure is this rank's own: it carries the
// sentence the user will read. Stopped says that some rank has failed and that all ranks know; on rank 0,
// which speaks for the job, it carries that rank's sentence.
#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace kmer {

// What errno says about the call that has just failed: "No such file or directory".
inline std::string system_reason() {
    return std::generic_category().message(errno);
}

class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Stopped : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace kmer
