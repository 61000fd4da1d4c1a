// SPDX-License-Identifier: BSD-3-Clause
// The checks, and their messages.
#include "api/check.hpp"

#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/format.hpp"
#include "memory/command.hpp"
#include "os/call_site.hpp"
#include "os/log_line.hpp"
#include "os/process.hpp"

namespace acp::api {

namespace {

constexpr std::size_t places_told_max = 64;

// The places of the program that were reported, so that a loop is reported once.
struct ToldPlaces {
    std::mutex mutex;
    std::set<std::uintptr_t> places;

    // Whether a place is new, and there is room for it.
    //   place  its CallSite::identity
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
    if (!told_places().add(site.identity)) return;
    os::print_error("acp: ACP_CHECK: rank %u on %s: %s; called from %s\n", library().member->rank(),
                    os::host_name().c_str(), mistake.c_str(),
                    site.text.empty() ? "an unknown place" : site.text.c_str());
}

void tell_overlap(std::string_view call,
                  std::uint64_t bytes,
                  const std::string& source,
                  const std::string& target,
                  const char* consequence) {
    tell(std::string(call) + " of " + base::in_bytes(bytes) +
         " whose source and target overlap: the source is " + source + ", the target is " + target +
         "; " + consequence);
}

constexpr const char* copy_consequence = "what the target then holds is not specified";

std::string explain(const void* pointer, std::uint64_t bytes) {
    return base::in_bytes(bytes) + " of this process at " +
           base::hex(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace

void check_overlap(const local::Space& space, const memory::Command& command) {
    const memory::GlobalAddress target = command.target;
    const memory::GlobalAddress source = command.source;
    const std::uint64_t bytes = command.bytes;
    if (target == 0 || source == 0) return;
    const ByteExtent to = extent_of(space, target, bytes);
    const ByteExtent from = extent_of(space, source, bytes);
    if (!do_overlap(to, from) || (command.is_copy() && to == from)) return;
    tell_overlap(gma::name_of(command), bytes, space.explain(source, bytes),
                 space.explain(target, bytes),
                 command.is_copy() ? copy_consequence : "word and target must be apart");
}

void check_overlap(const local::Space& space, const gma::PointerCopy& copy) {
    const std::uint64_t bytes = copy.end.bytes;
    if (copy.address == 0 || copy.end.memory == nullptr) return;
    const ByteExtent far = extent_of(space, copy.address, bytes);
    const ByteExtent near = extent_of(copy.end.memory, bytes);
    if (!do_overlap(far, near) || far == near) return;
    const std::string address = space.explain(copy.address, bytes);
    const std::string pointer = explain(copy.end.memory, bytes);
    const memory::Command named{memory::Operation::copy,         0, 0, 0, bytes, 0,
                                memory::Command::note(copy.call)};
    tell_overlap(memory::call_name(named), bytes, copy.end.is_get ? address : pointer,
                 copy.end.is_get ? pointer : address, copy_consequence);
}

void check_signal(const local::Space& space,
                  const gma::PointerCopy& put,
                  const gma::Signal& signal) {
    constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
    if (put.address == 0 || signal.word == 0) return;
    const ByteExtent word = extent_of(space, signal.word, word_bytes);
    const bool is_in_target = do_overlap(word, extent_of(space, put.address, put.end.bytes));
    const bool is_in_source =
        put.end.memory != nullptr && do_overlap(word, extent_of(put.end.memory, put.end.bytes));
    if (!is_in_target && !is_in_source) return;
    tell("acp_put_signal of " + base::in_bytes(put.end.bytes) + " whose signal lies in its " +
         (is_in_target ? "target" : "source") + ": the signal is " +
         space.explain(signal.word, word_bytes) + ", the " +
         (is_in_target ? "target is " + space.explain(put.address, put.end.bytes)
                       : "source is " + explain(put.end.memory, put.end.bytes)) +
         "; the word must be apart from both");
}

void ListCheck::add(memory::GlobalAddress target,
                    memory::GlobalAddress source,
                    std::uint64_t bytes) {
    const bool is_null = target == 0 || source == 0;  // such a range fails by itself
    extents_.add(extent_of(space_, target, is_null ? 0 : bytes),
                 extent_of(space_, source, is_null ? 0 : bytes));
    if (extents_.size() == ranges_at_once_max) finish();
}

void ListCheck::finish() {
    const auto overlap = is_told_ ? std::nullopt : extents_.find();
    if (overlap) {
        is_told_ = true;
        const std::string first = std::to_string(first_ + overlap->first);
        const std::string second = std::to_string(first_ + overlap->second);
        const char* side = overlap->is_with_source ? "source" : "target";
        tell(std::string(call_) + ": the target of range " + first + " overlaps " +
             (first == second ? std::string("its own ") + side
                              : std::string("the ") + side + " of range " + second) +
             " (ranges are counted from 0); " + copy_consequence);
    }
    first_ += extents_.size();
    extents_.clear();
}

void tell_long_wait(const char* call, std::int64_t waited_ns, const std::string& what) {
    constexpr std::int64_t ns_per_second = 1'000'000'000;
    tell(std::string(call) + " waits for " + std::to_string(waited_ns / ns_per_second) +
         " s: until " + what);
}

lock::LongWait report_of_long_wait(const char* call) {
    if (!is_checking()) return nullptr;
    return [call](std::int64_t waited_ns, const std::string& until) {
        tell_long_wait(call, waited_ns, until);
    };
}

void check_handle(const char* what, std::int64_t given) {
    const auto handle = static_cast<gma::Handle>(given);
    // relaxed: includes the caller's own commands, and those of a thread that passed it a handle
    const std::uint64_t newest = fast_path.marks.inline_handle.load(std::memory_order_relaxed);
    if (handle <= newest || handle == gma::handle_all || handle == gma::handle_cont) return;
    // Printed as the program prints it: a handle is signed.
    tell(std::string(what) + " is given " + std::to_string(given) +
         ", a handle that no call has returned");
}

}  // namespace acp::api
