// SPDX-License-Identifier: BSD-3-Clause
// Libraries of a worker process.
#include "worker/libraries.hpp"

#include <array>
#include <utility>

namespace acp::worker {

Result<std::uint64_t> Libraries::load(const std::string& path) {
    const std::array names{path.c_str()};
    auto opened = os::SharedLibrary::open(names);
    if (!opened.is_ok()) return std::move(opened).failure();
    loaded_.emplace(last_number_ + 1, std::move(opened).value());
    return ++last_number_;
}

bool Libraries::unload(std::uint64_t number) {
    return loaded_.erase(number) != 0;
}

std::uint64_t Libraries::find(std::uint64_t number, const std::string& symbol) const {
    void (*function)() = nullptr;
    if (number == 0) {
        const auto program = os::SharedLibrary::of_program();
        if (!program.is_ok() || !program.value().find(symbol.c_str(), function)) return 0;
        return reinterpret_cast<std::uintptr_t>(function);
    }
    const auto found = loaded_.find(number);
    if (found == loaded_.end() || !found->second.find(symbol.c_str(), function)) return 0;
    return reinterpret_cast<std::uintptr_t>(function);
}

}  // namespace acp::worker
