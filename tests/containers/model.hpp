// SPDX-License-Identifier: BSD-3-Clause
// A container and its model of the standard library, which do the same steps and must tell the same. A step is three numbers, whose
// meaning is the container's business, so that RapidCheck makes random ones and finds the shortest list of steps that still
// fails. Knows nothing of ranks but the one on which the container lies. Used by rank 0 alone.
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

    // Does a step on both. Throws Mismatch where they differ.
    virtual void apply(const Step& step) = 0;

    // Compares all that is in them.
    virtual void compare() = 0;

    // Destroys the container.
    virtual void destroy() = 0;
};

struct Mismatch {
    std::string what;
};

// Throws what differs, and the error message of the library's last call.
void must(bool is_so, std::string_view what);

// A text of a length that a step's value tells, and whose bytes tell the value. Some fit into no message between nodes.
[[nodiscard]] std::string text_of(std::uint32_t value);

// One of few keys, one of them long.
[[nodiscard]] std::string key_of(std::uint16_t which);

// What the names of kinds stand for, on a rank. nullptr: there is no such kind.
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
