// SPDX-License-Identifier: BSD-3-Clause
// Names of functions.
#include "offload/function_names.hpp"

#include <new>

#include "base/format.hpp"

namespace acp::offload {

void FunctionNames::add(int process, std::uint64_t function, const std::string& name) noexcept {
    const std::scoped_lock lock(mutex_);
    if (names_.size() >= names_max) return;
    try {
        names_[{process, function}] = name;
    } catch (const std::bad_alloc&) {  // then its address is shown
    }
}

std::string FunctionNames::name_of(int process, std::uint64_t function) const {
    const std::scoped_lock lock(mutex_);
    const auto found = names_.find({process, function});
    return found != names_.end() ? found->second : "at " + base::hex(function);
}

}  // namespace acp::offload
