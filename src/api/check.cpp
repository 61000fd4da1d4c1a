// SPDX-License-Identifier: BSD-3-Clause
// What is looked at, and the messages.
#include "api/check.hpp"

#include <mutex>
#include <set>
#include <string>

#include "base/format.hpp"
#include "os/call_site.hpp"
#include "os/process.hpp"

namespace acp::api {

namespace {

constexpr std::size_t places_told_max = 64;

// The places of the program that have been told, so that a loop is told once.
struct ToldPlaces {
    std::mutex mutex;
    std::set<std::uintptr_t> places;

    // Whether it is a new one, and there is room for it.
    bool add(std::uintptr_t place) {
        const std::scoped_lock lock(mutex);
        return places.size() < places_told_max && places.insert(place).second;
    }
};

ToldPlaces& told_places() {
    static ToldPlaces& instance = *new ToldPlaces();  // never destroyed: threads may outlive main
    return instance;
}

void tell(const std::string& mistake) {
    const os::CallSite site = os::find_call_site();
    if (!told_places().add(site.address)) return;
    std::fprintf(stderr, "acp: ACP_CHECK: rank %u on %s: %s; called from %s\n",
                 library().member->rank(), os::host_name().c_str(), mistake.c_str(),
                 site.text.empty() ? "an unknown place" : site.text.c_str());
}

bool overlap(std::uint64_t first, std::uint64_t second, std::uint64_t bytes) noexcept {
    return first - second < bytes || second - first < bytes;
}

// Two registrations may cover the same memory.
bool overlap_in_memory(const local::Space& space,
                       memory::GlobalAddress target,
                       memory::GlobalAddress source,
                       std::uint64_t bytes) {
    local::Place to;
    local::Place from;
    return space.find(target, bytes, to) == base::Code::ok &&
           space.find(source, bytes, from) == base::Code::ok && to.slot == from.slot &&
           to.is_shared() == from.is_shared() &&
           overlap(to.owner_address, from.owner_address, bytes);
}

}  // namespace

void check_overlap(const local::Space& space, const memory::Command& command) {
    const memory::GlobalAddress target = command.target;
    const memory::GlobalAddress source = command.source;
    const std::uint64_t bytes = command.bytes;
    if (bytes == 0 || target == 0 || source == 0) return;
    if (command.is_copy() && target == source) return;
    const std::uint64_t mask = space.layout().colorless_mask();
    const bool is_same_process = space.layout().process(target) == space.layout().process(source);
    const bool is_overlap = (is_same_process && overlap(target & mask, source & mask, bytes)) ||
                            overlap_in_memory(space, target, source, bytes);
    if (!is_overlap) return;
    tell(std::string(gma::name_of(command)) + " of " + base::in_bytes(bytes) +
         " whose source and target overlap: the source is " + space.explain(source, bytes) +
         ", the target is " + space.explain(target, bytes) +
         (command.is_copy() ? "; what the target then holds is not specified"
                            : "; word and target must be apart"));
}

void check_handle(const char* what, std::int64_t given) {
    const auto handle = static_cast<gma::Handle>(given);
    // relaxed: the caller's own commands are in it, and those of a thread that gave it a handle
    const std::uint64_t newest = fast_path.marks.inline_handle.load(std::memory_order_relaxed);
    if (handle <= newest || handle == gma::handle_all || handle == gma::handle_cont) return;
    // As the program prints it: a handle is signed.
    tell(std::string(what) + " is given " + std::to_string(given) +
         ", a handle that no call has returned");
}

}  // namespace acp::api
