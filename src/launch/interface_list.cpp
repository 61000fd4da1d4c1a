// SPDX-License-Identifier: BSD-3-Clause
// Writes interfaces as words, and reads them.
#include "launch/interface_list.hpp"

#include <algorithm>

#include "base/words.hpp"

namespace acp::launch {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t words_each = 3;

struct Mark {
    char letter;
    bool os::InterfaceAddress::*is_so;
};

constexpr Mark marks[] = {{'l', &os::InterfaceAddress::is_loopback},
                          {'c', &os::InterfaceAddress::has_carrier},
                          {'d', &os::InterfaceAddress::has_default_route},
                          {'v', &os::InterfaceAddress::is_virtual}};

Result<os::InterfaceAddress> interface_from(const std::vector<std::string_view>& words) {
    const auto wrong = [](std::string_view word) {
        return Status(Code::argument, "\"" + std::string(word) + "\" is no part of an interface");
    };
    if (words.size() < words_each) return wrong(words.empty() ? "" : words.back());
    auto range = os::parse_range(words[1]);
    if (words[0].empty() || !range.is_ok()) return wrong(words[1]);
    os::InterfaceAddress one;
    one.interface = words[0];
    one.address = range.value().network;
    one.prefix_bits = range.value().prefix_bits;
    for (const Mark& mark : marks) one.*mark.is_so = false;
    if (words[2] == "-") return one;
    for (const char letter : words[2]) {
        const auto* mark = std::find_if(std::begin(marks), std::end(marks),
                                        [&](const Mark& m) { return m.letter == letter; });
        if (mark == std::end(marks)) return wrong(words[2]);
        one.*mark->is_so = true;
    }
    return one;
}

}  // namespace

std::string to_words(const Interfaces& interfaces) {
    Interfaces some = interfaces;
    if (some.size() > interfaces_max) {
        std::stable_partition(some.begin(), some.end(), [](const os::InterfaceAddress& one) {
            return !one.is_virtual || one.has_default_route;
        });
        some.resize(interfaces_max);
    }
    std::string words;
    for (const os::InterfaceAddress& one : some) {
        if (!words.empty()) words += ' ';
        words += one.interface + " " + os::ip_text(one.address) + "/" +
                 std::to_string(one.prefix_bits) + " ";
        const std::size_t before = words.size();
        for (const Mark& mark : marks) {
            if (one.*mark.is_so) words += mark.letter;
        }
        if (words.size() == before) words += '-';
    }
    return words;
}

Result<Interfaces> interfaces_from(std::string_view words) {
    Interfaces interfaces;
    while (!words.empty()) {
        if (interfaces.size() == interfaces_max) {
            return Status(Code::limit, "more than " + std::to_string(interfaces_max) +
                                           " addresses of interfaces");
        }
        auto parts = base::words_of(words, words_each + 1);
        words = parts.size() > words_each ? parts.back() : std::string_view();
        auto one = interface_from(parts);
        if (!one.is_ok()) return std::move(one).failure();
        interfaces.push_back(std::move(one).value());
    }
    return interfaces;
}

std::string text_of(const Interfaces& interfaces) {
    std::string text;
    for (const os::InterfaceAddress& one : interfaces) {
        text += (text.empty() ? "" : ", ") + one.interface + " " + os::ip_text(one.address);
    }
    return text.empty() ? "none" : text;
}

}  // namespace acp::launch
