// SPDX-License-Identifier: BSD-3-Clause
// Takes ACP's pairs out of a command line.
#include "api/arguments.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace acp::api {

namespace {

constexpr std::string_view prefix = "--acp-";

// "starter-size" -> "ACP_STARTER_SIZE"; 3.0's "size-smem" is the same thing, and "size-smem-dl" is
// "heap-size".
std::string variable_of(std::string_view option) {
    if (option == "size-smem") {
        option = "starter-size";
    } else if (option == "size-smem-dl") {
        option = "heap-size";
    }
    std::string name = "ACP_";
    for (const char letter : option) {
        name += letter == '-' ? '_'
                              : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    return name;
}

void set(std::vector<std::string>& environment, const std::string& name, std::string_view value) {
    std::erase_if(environment,
                  [&](const std::string& entry) { return entry.starts_with(name + "="); });
    environment.push_back(name + "=" + std::string(value));
}

}  // namespace

base::Status take_arguments(int* argc, char*** argv, std::vector<std::string>& environment) {
    if (argc == nullptr || argv == nullptr || *argv == nullptr) {
        return {};
    }
    std::vector<char*> kept;
    std::vector<std::pair<std::string, std::string_view>> taken;
    for (int i = 0; i < *argc; ++i) {
        const std::string_view argument((*argv)[i]);
        if (argument == "--") {
            kept.insert(kept.end(), *argv + i, *argv + *argc);
            break;
        }
        if (i == 0 || !argument.starts_with(prefix)) {
            kept.push_back((*argv)[i]);
            continue;
        }
        const std::string_view option = argument.substr(prefix.size());
        if (const auto equals = option.find('='); equals != std::string_view::npos) {
            taken.emplace_back(variable_of(option.substr(0, equals)), option.substr(equals + 1));
        } else if (i + 1 < *argc) {
            taken.emplace_back(variable_of(option), (*argv)[++i]);
        } else {
            return {base::Code::config, std::string(argument) + " needs a value"};
        }
    }
    for (const auto& [name, value] : taken) {
        set(environment, name, value);
    }
    std::copy(kept.begin(), kept.end(), *argv);
    (*argv)[kept.size()] = nullptr;
    *argc = static_cast<int>(kept.size());
    return {};
}

void add_arguments(const std::vector<std::string>& entries, std::vector<std::string>& environment) {
    for (const std::string& entry : entries) {
        const std::size_t equals = entry.find('=');
        set(environment, entry.substr(0, equals), std::string_view(entry).substr(equals + 1));
    }
}

}  // namespace acp::api
