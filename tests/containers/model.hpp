// SPDX-License-Identifier: BSD-3-Clause
// A container and its model of the standard library: both make the same steps and must return the
// same. A step is three numbers that each container interprets, so that RapidCheck makes random
// ones and finds the shortest list of steps that still fails. Knows no ranks except the one on
// which the container lies. Used by rank 0 alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace acp::test {

struct Step {
    std::uint8_t what = 0;
    std::uint16_t which = 0;
    std::uint32_t value = 0;
};

class Model {
public:
    Model() = default;
    virtual ~Model() = default;
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // Makes a step on both. Throws Mismatch if they differ.
    virtual void apply(const Step& step) = 0;

    // Compares the whole content.
    virtual void compare() = 0;

    // Destroys the container.
    virtual void destroy() = 0;
};

struct Mismatch {
    std::string what;
};

// Throws Mismatch with the description and the error message of the library's last call.
void must(bool is_so, std::string_view what);

// A text whose length and bytes follow from the value. Some are longer than a message between
// nodes.
[[nodiscard]] std::string text_of(std::uint32_t value);

// One of few keys, one of them long.
[[nodiscard]] std::string key_of(std::uint16_t which);

// The kinds that make_model() knows; for other names it returns nullptr.
inline constexpr std::string_view kinds[] = {"heap",     "map",  "multimap", "set",
                                             "multiset", "list", "vector",   "deque"};
[[nodiscard]] std::unique_ptr<Model> make_model(std::string_view kind, int rank);

[[nodiscard]] std::unique_ptr<Model> make_heap_model(int rank);
[[nodiscard]] std::unique_ptr<Model> make_map_model(int rank);
[[nodiscard]] std::unique_ptr<Model> make_multimap_model(int rank);
[[nodiscard]] std::unique_ptr<Model> make_set_model(int rank);
[[nodiscard]] std::unique_ptr<Model> make_multiset_model(int rank);
[[nodiscard]] std::unique_ptr<Model> make_list_model(int rank);
[[nodiscard]] std::unique_ptr<Model> make_vector_model(int rank);
[[nodiscard]] std::unique_ptr<Model> make_deque_model(int rank);

}  // namespace acp::test
