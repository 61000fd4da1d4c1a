// SPDX-License-Identifier: BSD-3-Clause
// Parses the user's choice, and orders addresses by it.
#include "launch/network_choice.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

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

// The index of the first wish that an address fits, 0 where all wishes are exclusions; left_out
// when it is not wanted.
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
    return place;
}

// Which networks connect the nodes of a job.
class NetworkChoice::Networks {
public:
    explicit Networks(std::span<const Interfaces> nodes) {
        std::map<Ip, std::uint32_t> holders;  // nodes that have this address
        for (const Interfaces& interfaces : nodes) {
            std::set<Ip> ips;
            for (const os::InterfaceAddress& one : interfaces) ips.insert(one.address.ip);
            for (const Ip& ip : ips) ++holders[ip];
        }
        for (const Interfaces& interfaces : nodes) {
            std::set<Network> own;
            for (const os::InterfaceAddress& one : interfaces) {
                if (holders[one.address.ip] == 1) own.insert(network_of(one));
            }
            for (const Network& network : own) ++members_[network];
        }
    }

    // How many nodes have an address of their own in the network of this one; 0 where no other node
    // has.
    [[nodiscard]] std::uint32_t members_of(const os::InterfaceAddress& one) const {
        const auto found = members_.find(network_of(one));
        return found == members_.end() || found->second < 2 ? 0 : found->second;
    }

    // The address without the bits behind the prefix.
    static os::InterfaceAddress without_host(os::InterfaceAddress one) noexcept {
        for (std::size_t bit = one.prefix_bits; bit < one.address.ip.size() * 8; ++bit) {
            auto& byte = one.address.ip[bit / 8];
            byte = static_cast<std::uint8_t>(byte & ~(0x80U >> bit % 8));
        }
        return one;
    }

private:
    using Ip = std::array<std::uint8_t, 16>;
    using Network = std::tuple<std::uint16_t, std::uint32_t, Ip>;  // family, bits of the prefix

    static Network network_of(const os::InterfaceAddress& one) noexcept {
        return {one.address.family, one.prefix_bits, without_host(one).address.ip};
    }

    std::map<Network, std::uint32_t> members_;
};

struct NetworkChoice::Candidate {
    const os::InterfaceAddress* of;
    std::uint32_t members;
    bool is_local;  // reaches this machine alone, probably
    std::size_t place;

    [[nodiscard]] bool is_better_than(const Candidate& other) const noexcept {
        const auto key = [](const Candidate& one) {
            return std::tuple(one.place, ~one.members, one.is_local, !one.of->has_carrier,
                              !one.of->has_default_route, one.of->address.family);
        };
        return key(*this) < key(other);
    }
};

// The addresses of a node that fit the wishes, each once, best first.
std::vector<NetworkChoice::Candidate> NetworkChoice::candidates_of(const Interfaces& interfaces,
                                                                   const Networks& networks) const {
    std::vector<Candidate> found;
    for (const os::InterfaceAddress& one : interfaces) {
        const std::size_t place = place_of(one);
        const bool is_known = std::any_of(found.begin(), found.end(), [&](const Candidate& other) {
            return other.of->address == one.address;
        });
        if (place == left_out || is_known) continue;
        const std::uint32_t members = networks.members_of(one);
        const bool is_local = members == 0 && one.is_virtual && !one.has_default_route;
        found.push_back({&one, members, is_local, place});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate& a, const Candidate& b) { return a.is_better_than(b); });
    return found;
}

// For rails: without those that probably reach this machine alone, and each interface's best
// address before any second one.
void NetworkChoice::sort_for_rails(std::vector<Candidate>& candidates) {
    const auto is_local = [](const Candidate& one) { return one.is_local; };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is_local),
                     candidates.end());
    std::set<std::string> seen;
    std::vector<Candidate> seconds;
    std::vector<Candidate> firsts;
    for (const Candidate& one : candidates) {
        (seen.insert(one.of->interface).second ? firsts : seconds).push_back(one);
    }
    firsts.insert(firsts.end(), seconds.begin(), seconds.end());
    candidates = std::move(firsts);
}

// Puts an address that lies in the i-th network of `order` at place i, for each i; the others fill
// the places between.
void NetworkChoice::follow(std::span<const os::AddressRange> order,
                           std::vector<Candidate>& candidates) {
    std::vector<const Candidate*> places(candidates.size());
    std::vector<bool> is_placed(candidates.size());
    for (std::size_t i = 0; i < std::min(order.size(), places.size()); ++i) {
        for (std::size_t c = 0; c < candidates.size() && places[i] == nullptr; ++c) {
            if (is_placed[c] || !os::contains(order[i], candidates[c].of->address)) continue;
            places[i] = &candidates[c];
            is_placed[c] = true;
        }
    }
    std::vector<Candidate> ordered;
    std::size_t next = 0;  // the best that was not placed
    for (const Candidate* placed : places) {
        if (placed == nullptr) {
            while (is_placed[next]) ++next;
            placed = &candidates[next++];
        }
        ordered.push_back(*placed);
    }
    candidates = std::move(ordered);
}

GatewayTable NetworkChoice::choose(std::span<const Interfaces> nodes, std::uint32_t rails) const {
    constexpr std::size_t left_out_max = 255;
    const Networks networks(nodes);
    std::vector<os::AddressRange> order;  // the networks of node 0's addresses
    GatewayTable table;
    for (const Interfaces& interfaces : nodes) {
        std::vector<Candidate> candidates = candidates_of(interfaces, networks);
        if (rails > 1) sort_for_rails(candidates);
        follow(order, candidates);
        GatewayRow& row = table.emplace_back();
        const std::size_t count =
            std::min<std::size_t>(candidates.size(), rails > 1 ? rails : node_addresses_max);
        for (std::size_t i = 0; i < count; ++i) {
            const os::InterfaceAddress& one = *candidates[i].of;
            row.addresses.push_back(one.address);
            if (table.size() == 1) order.push_back({one.address, one.prefix_bits});
        }
        if (rails == 1) {
            const std::size_t left = std::min(candidates.size() - count, left_out_max);
            row.left_out = static_cast<std::uint8_t>(left);
        }
        if (row.addresses.empty() && wishes_.empty() && rails == 1)
            row.addresses.push_back(os::parse_ip("127.0.0.1").value_or(os::SocketAddress{}));
    }
    return table;
}

}  // namespace acp::launch
