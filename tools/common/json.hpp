// SPDX-License-Identifier: BSD-3-Clause
// A value of JSON as the tools write it. Made of plain containers; nlohmann-json, which takes ten
// seconds to compile, is known to json.cpp alone. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace acp::tool {

class Json {
public:
    using Array = std::vector<Json>;
    // dump() writes the members in this order
    using Object = std::vector<std::pair<std::string, Json>>;
    using Value = std::variant<std::nullptr_t,
                               bool,
                               std::int64_t,
                               std::uint64_t,
                               double,
                               std::string,
                               Array,
                               Object>;

    // Everything below converts by itself: a value of JSON is written where one is wanted.
    // NOLINTBEGIN(google-explicit-constructor)
    Json(std::nullptr_t = nullptr) {}

    Json(bool value) : value_(value) {}

    Json(double value) : value_(value) {}
    template <class Integer>

    requires(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>) Json(Integer value) {
        if constexpr (std::is_signed_v<Integer>) {
            value_ = std::int64_t{value};
        } else {
            value_ = std::uint64_t{value};
        }
    }

    Json(const char* text) : value_(std::string(text)) {}

    Json(std::string text) : value_(std::move(text)) {}

    Json(std::string_view text) : value_(std::string(text)) {}

    template <class Element>
    Json(const std::vector<Element>& elements) : value_(Array(elements.begin(), elements.end())) {}

    // NOLINTEND(google-explicit-constructor)

    Json(const Json& other);
    Json(Json&& other) noexcept = default;

    Json& operator=(Json&& other) noexcept = default;

    Json& operator=(const Json& other) {
        if (this != &other) *this = Json(other);
        return *this;
    }

    ~Json() = default;

    // {{"name", value}, ...}, every element a pair with a name: an object. Any other list: an
    // array.
    Json(std::initializer_list<Json> elements);

    [[nodiscard]] static Json array();
    [[nodiscard]] static Json object();

    [[nodiscard]] bool is_null() const noexcept;

    [[nodiscard]] const Value& value() const noexcept { return value_; }

    // The member of that name of an object, made where there is none; null becomes an object.
    Json& operator[](std::string_view name);

    // To the end of an array; null becomes one.
    void push_back(Json element);

    // Sets all members of another object.
    void update(const Json& other);

    // Returns the value as JSON text, indented by `indent` spaces per level.
    [[nodiscard]] std::string dump(int indent) const;

private:
    Value value_ = nullptr;
};

}  // namespace acp::tool
