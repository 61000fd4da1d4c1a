// SPDX-License-Identifier: BSD-3-Clause
// Parses the user's choice, and orders addresses by it.
#include "launch/network_choice.hpp"

#include <algorithm>

namespace acp::launch {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t left_out = ~std::size_t{0};
constexpr std::size_t interface_name_max = 15;

bool is_like_an_address(std::string_view text) {
    return text.find_first_of("/:") != std::string_view::npos ||
           text.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

Result<NetworkChoice> NetworkChoice::from(std::string_view text) {
    NetworkChoice choice;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string word(text.substr(0, comma));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
        Wish wish;
        wish.is_exclusion = !word.empty() && word.front() == '!';
        const std::string_view name = std::string_view(word).substr(wish.is_exclusion ? 1 : 0);
        if (is_like_an_address(name)) {
            auto range = os::parse_range(name);
            if (!range.is_ok()) return std::move(range).failure();
            wish.range = range.value();
        } else if (name.size() > interface_name_max) {
            return Status(Code::argument, "\"" + word +
                                              "\" is neither a network, such as 10.0.0.0/8, nor an "
                                              "interface, such as eth0");
        } else {
            wish.interface = name;
        }
        choice.wishes_.push_back(std::move(wish));
    }
    return choice;
}

bool NetworkChoice::fits(const Wish& wish, const os::InterfaceAddress& address) noexcept {
    if (!wish.interface.empty()) return wish.interface == address.interface;
    return os::contains(wish.range, address.address);
}

// The rank of an address among those that fit: by the order of the wishes, IPv4 first. left_out when it does not fit.
std::size_t NetworkChoice::place_of(const os::InterfaceAddress& address) const noexcept {
    bool has_positive = false;
    std::size_t place = left_out;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
        const bool does_fit = fits(wishes_[i], address);
        if (wishes_[i].is_exclusion) {
            if (does_fit) return left_out;
            continue;
        }
        has_positive = true;
        if (does_fit && place == left_out) place = i;
    }
    if (!has_positive) place = address.is_loopback ? left_out : 0;
    if (place == left_out) return left_out;
    return place * 2 + (address.address.family == 6 ? 1 : 0);
}

std::vector<os::SocketAddress> NetworkChoice::choose(
    std::span<const os::InterfaceAddress> all) const {
    std::vector<std::pair<std::size_t, os::SocketAddress>> fitting;
    for (const os::InterfaceAddress& address : all) {
        const std::size_t place = place_of(address);
        if (place != left_out) fitting.emplace_back(place, address.address);
    }
    std::stable_sort(fitting.begin(), fitting.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<os::SocketAddress> chosen;
    for (const auto& [place, address] : fitting) {
        if (chosen.size() < node_addresses_max) chosen.push_back(address);
    }
    if (chosen.empty() && wishes_.empty())
        chosen.push_back(os::parse_ip("127.0.0.1").value_or(os::SocketAddress{}));
    return chosen;
}

}  // namespace acp::launch
