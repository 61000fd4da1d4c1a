// SPDX-License-Identifier: BSD-3-Clause
// Issues programs by the public interface and compares memory with the model.
#include "model/issuer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/mode.hpp"

namespace acp::test {
namespace {

constexpr std::size_t sinks_bytes = 8 * steps_max;

}  // namespace

Field::Field(std::size_t issuers, std::size_t strip_bytes)
    : procs_(static_cast<std::size_t>(acp_procs())),
      strip_bytes_(strip_bytes),
      starter_(Kind::starter, header_bytes + issuers * strip_bytes),
      registered_(Kind::registered, header_bytes + issuers * strip_bytes) {}

acp_ga_t Field::begin(std::size_t location) const {
    const int rank = static_cast<int>(location % procs_);
    return location < procs_ ? starter_.at(rank) : registered_.at(rank);
}

acp_ga_t Field::counter(std::size_t location, std::size_t number) const {
    return begin(location) + 8 * number;
}

acp_ga_t Field::strip(std::size_t location, std::size_t issuer) const {
    return begin(location) + header_bytes + issuer * strip_bytes_;
}

const std::byte* Field::mapped_strip(std::size_t location, std::size_t issuer) const {
    const bool is_own = static_cast<int>(location % procs_) == acp_rank();
    if (location >= procs_ && !is_own) {
        return nullptr;
    }
    return static_cast<const std::byte*>(acp_query_address(strip(location, issuer)));
}

std::uint64_t Field::own_counter(std::size_t kind, std::size_t number) const {
    return (kind == 0 ? starter_ : registered_).word<std::uint64_t>(8 * number);
}

std::vector<std::size_t> Field::reachable() const {
    std::vector<std::size_t> result;
    for (std::size_t location = 0; location < locations(); ++location) {
        const bool is_own = static_cast<int>(location % procs_) == acp_rank();
        if (location < procs_ || is_own || mode().reaches_private_memory()) {
            result.push_back(location);
        }
    }
    return result;
}

Issuer::Issuer(const Field& field, std::size_t number, Shape shape)
    : field_(field),
      number_(number),
      shape_(std::move(shape)),
      model_(field.locations(), field.strip_bytes()),
      scratch_(sinks_bytes + field.locations() * field.strip_bytes()),
      scratch_key_(acp_register_memory(scratch_.data(), scratch_.size(), 0)),
      scratch_address_(acp_query_ga(scratch_key_, scratch_.data())) {
    shape_.strip_bytes = field.strip_bytes();
}

Issuer::~Issuer() {
    acp_unregister_memory(scratch_key_);
}

const Program& Issuer::prepare(std::uint64_t seed) {
    Random random(seed);
    program_ = make_program(random, shape_);
    handles_.assign(program_.size(), ACP_HANDLE_NULL);
    trouble_.clear();
    return program_;
}

acp_ga_t Issuer::address(const Spot& spot) const {
    return field_.strip(spot.location, number_) + spot.offset;
}

acp_ga_t Issuer::target_of(std::size_t index) const {
    const Step& step = program_[index];
    if (step.is_bare) {
        return ACP_GA_NULL;
    }
    if (step.is_bad) {
        const bool is_null = step.verb == Verb::copy && step.operand % 2 == 0;
        return is_null ? ACP_GA_NULL : acp_query_starter_ga(0) + acp_starter_size();
    }
    if (step.verb == Verb::count_add || step.verb == Verb::count_xor) {
        return scratch_address_ + 8 * index;
    }
    return address(step.target);
}

acp_handle_t Issuer::order_of(const Step& step) const {
    switch (step.order) {
        case OrderBy::nothing:
            return ACP_HANDLE_NULL;
        case OrderBy::handle:
            return handles_[step.order_step];
        case OrderBy::all:
            return ACP_HANDLE_ALL;
        default:
            return ACP_HANDLE_CONT;
    }
}

acp_handle_t Issuer::issue(const Step& step, acp_ga_t target, acp_handle_t order) const {
    const std::uint64_t value = step.operand;
    const auto value4 = static_cast<std::uint32_t>(value);
    const auto expected4 = static_cast<std::uint32_t>(step.expected);
    const bool is_wide = step.bytes == 8;
    if (step.verb == Verb::count_add || step.verb == Verb::count_xor) {
        const acp_ga_t counter = field_.counter(step.source.location, step.source.offset);
        return step.verb == Verb::count_add ? acp_add8(target, counter, value, order)
                                            : acp_xor8(target, counter, value, order);
    }
    const acp_ga_t source = address(step.source);
    switch (step.verb) {
        case Verb::copy:
            return acp_copy(target, source, step.bytes, order);
        case Verb::cas:
            return is_wide ? acp_cas8(target, source, step.expected, value, order)
                           : acp_cas4(target, source, expected4, value4, order);
        case Verb::swap:
            return is_wide ? acp_swap8(target, source, value, order)
                           : acp_swap4(target, source, value4, order);
        case Verb::add:
            return is_wide ? acp_add8(target, source, value, order)
                           : acp_add4(target, source, value4, order);
        case Verb::bit_xor:
            return is_wide ? acp_xor8(target, source, value, order)
                           : acp_xor4(target, source, value4, order);
        case Verb::bit_or:
            return is_wide ? acp_or8(target, source, value, order)
                           : acp_or4(target, source, value4, order);
        case Verb::min:
            return is_wide ? acp_min8(target, source, static_cast<std::int64_t>(value), order)
                           : acp_min4(target, source, static_cast<std::int32_t>(value4), order);
        case Verb::max:
            return is_wide ? acp_max8(target, source, static_cast<std::int64_t>(value), order)
                           : acp_max4(target, source, static_cast<std::int32_t>(value4), order);
        default:
            return is_wide ? acp_and8(target, source, value, order)
                           : acp_and4(target, source, value4, order);
    }
}

void Issuer::issue_step(std::size_t index) {
    const Step& step = program_[index];
    handles_[index] = issue(step, target_of(index), order_of(step));
    if (handles_[index] == ACP_HANDLE_NULL && trouble_.empty()) {
        trouble_ = "step " + std::to_string(index) + " returned no handle: " + acp_error_message();
    }
    follow(step);
}

void Issuer::follow(const Step& step) {
    if (step.then == Then::go_on) {
        return;
    }
    const acp_handle_t handle =
        step.then == Then::complete_all ? ACP_HANDLE_ALL : handles_[step.then_step];
    if (step.then == Then::wait_handle) {
        if (acp_wait(handle, -1) != ACP_OK && trouble_.empty()) {
            trouble_ = std::string("acp_wait: ") + acp_error_message();
        }
    } else if (step.then == Then::inquire_handle) {
        while (acp_inquire(handle) == 1) {
        }
    } else {
        acp_complete(handle);
    }
}

std::string Issuer::collect_failures() {
    std::size_t seen = 0;
    for (int code = acp_wait(ACP_HANDLE_ALL, -1); code != ACP_OK;
         code = acp_wait(ACP_HANDLE_ALL, -1)) {
        ++seen;
        if (code != ACP_ERR_ORDER && code != ACP_ERR_ADDRESS) {
            return std::string("unexpected failure: ") + acp_error_message();
        }
    }
    if (const std::size_t wanted = failures_of(program_); seen != wanted) {
        return std::to_string(seen) + " failures were reported, not " + std::to_string(wanted);
    }
    return "";
}

std::string Issuer::finish() {
    if (shape_.are_failures_allowed) {
        if (std::string difference = collect_failures(); !difference.empty()) {
            return difference;
        }
    } else {
        acp_complete(handles_.back());
    }
    model_.run(program_);
    return trouble_.empty() ? compare() : trouble_;
}

std::string Issuer::compare() {
    const std::size_t bytes = field_.strip_bytes();
    std::vector<const std::byte*> seen(field_.locations(), nullptr);
    acp_handle_t last = ACP_HANDLE_NULL;
    for (const std::size_t location : shape_.locations) {
        seen[location] = field_.mapped_strip(location, number_);
        if (seen[location] == nullptr) {
            const std::size_t place = sinks_bytes + location * bytes;
            last = acp_copy(scratch_address_ + place, field_.strip(location, number_), bytes,
                            ACP_HANDLE_NULL);
            seen[location] = scratch_.data() + place;
        }
    }
    acp_complete(last);
    for (const std::size_t location : shape_.locations) {
        const std::vector<std::byte>& wanted = model_.strips[location];
        if (std::memcmp(wanted.data(), seen[location], bytes) == 0) {
            continue;
        }
        const auto [good, bad] = std::mismatch(wanted.begin(), wanted.end(), seen[location]);
        return "location " + std::to_string(location) + " byte " +
               std::to_string(good - wanted.begin()) + " is " +
               std::to_string(std::to_integer<int>(*bad)) + ", not " +
               std::to_string(std::to_integer<int>(*good));
    }
    return "";
}

}  // namespace acp::test
