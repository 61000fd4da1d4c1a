// SPDX-License-Identifier: BSD-3-Clause
// Values of JSON; nlohmann-json makes them text.
#include "common/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace acp::tool {

namespace {

bool is_member(const Json& element) {
    const auto* pair = std::get_if<Json::Array>(&element.value());
    return pair != nullptr && pair->size() == 2 &&
           std::holds_alternative<std::string>(pair->front().value());
}

nlohmann::ordered_json text_library(const Json& json) {
    return std::visit(
        [](const auto& value) -> nlohmann::ordered_json {
            using Type = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<Type, Json::Array>) {
                auto array = nlohmann::ordered_json::array();
                for (const Json& element : value) array.push_back(text_library(element));
                return array;
            } else if constexpr (std::is_same_v<Type, Json::Object>) {
                auto object = nlohmann::ordered_json::object();
                for (const auto& [name, member] : value) object[name] = text_library(member);
                return object;
            } else {
                return nlohmann::ordered_json(value);
            }
        },
        json.value());
}

}  // namespace

Json::Json(std::initializer_list<Json> elements) {
    if (!std::all_of(elements.begin(), elements.end(), is_member)) {
        value_ = Array(elements);
        return;
    }
    value_ = Object{};
    for (const Json& element : elements) {
        const auto& pair = std::get<Array>(element.value_);
        (*this)[std::get<std::string>(pair[0].value_)] = pair[1];
    }
}

// Makes each alternative in place: where memory is refused to a string or vector, std::variant's
// own copy constructor in libstdc++ 12 destroys an alternative that was never made.
Json::Json(const Json& other)
    : value_(std::visit(
          [](const auto& value) {
              return Value(std::in_place_type<std::decay_t<decltype(value)>>, value);
          },
          other.value_)) {}

Json Json::array() {
    Json json;
    json.value_ = Array{};
    return json;
}

Json Json::object() {
    Json json;
    json.value_ = Object{};
    return json;
}

bool Json::is_null() const noexcept {
    return std::holds_alternative<std::nullptr_t>(value_);
}

Json& Json::operator[](std::string_view name) {
    if (is_null()) value_ = Object{};
    auto& members = std::get<Object>(value_);
    for (auto& [its_name, member] : members) {
        if (its_name == name) return member;
    }
    return members.emplace_back(name, Json()).second;
}

void Json::push_back(Json element) {
    if (is_null()) value_ = Array{};
    std::get<Array>(value_).push_back(std::move(element));
}

void Json::update(const Json& other) {
    for (const auto& [name, member] : std::get<Object>(other.value_)) (*this)[name] = member;
}

std::string Json::dump(int indent) const {
    // What is no UTF-8, a name from the kernel say, is written as the sign for that.
    return text_library(*this).dump(indent, ' ', false,
                                    nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace acp::tool
