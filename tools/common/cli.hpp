// SPDX-License-Identifier: BSD-3-Clause
// The command line of a tool: CLI11, as far as the tools use it, under CLI11's names (its documents
// describe them). Before CLI11 parses the words, this layer refuses mistakes for which CLI11 has no
// clear message, or which it misreads: an option that is unknown, given twice, without a value or
// with an empty one, and a word that names no subcommand. CLI11 itself takes ten seconds to compile
// and is known to cli.cpp alone. Main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace acp::cli {

// Why the command line was not taken; or, as a Success, that all was said already (--help,
// --version).
class ParseError : public std::runtime_error {
public:
    explicit ParseError(const std::string& what) : std::runtime_error(what) {}

    std::string output;  // what is to be printed on standard output: help or version
    int code = 1;
};

class Success : public ParseError {
public:
    using ParseError::ParseError;
};

class ValidationError : public ParseError {
public:
    explicit ValidationError(const std::string& what) : ParseError(what) {}

    ValidationError(const std::string& option, const std::string& what)
        : ParseError(option + ": " + what) {}
};

class RequiredError : public ParseError {
public:
    explicit RequiredError(const std::string& option) : ParseError(option + " is required") {}
};

// A word of the command line.
struct Word {
    std::string text;
    std::string
        typed;  // the option as the user wrote it, where text has been made of that; "": as in text
};

// The interval in which an option's value must lie.
struct Range {
    Range(int low, int high) : bounds(std::pair(low, high)) {}

    Range(std::uint64_t low, std::uint64_t high) : bounds(std::pair(low, high)) {}

    Range(double low, double high) : bounds(std::pair(low, high)) {}

    std::variant<std::pair<int, int>,
                 std::pair<std::uint64_t, std::uint64_t>,
                 std::pair<double, double>>
        bounds;
};

struct IsMember {
    IsMember(std::initializer_list<const char*> list) : words(list.begin(), list.end()) {}

    std::vector<std::string> words;
};

struct AsSizeValue {
    explicit AsSizeValue(bool is_k_1000) : is_kilo_1000(is_k_1000) {}

    bool is_kilo_1000;
};

class Option {
public:
    explicit Option(void* its) : its_(its) {}

    Option* type_name(const std::string& name);
    Option* check(const Range& range);
    Option* check(const IsMember& member);
    Option* transform(const AsSizeValue& size);
    Option* delimiter(char between);
    Option* group(const std::string& name);  // "": not shown
    Option* required();
    Option* capture_default_str();
    Option* allow_extra_args(bool may);
    [[nodiscard]] int get_items_expected_min() const;
    [[nodiscard]] const std::vector<std::string>& get_lnames() const;  // without "--"
    [[nodiscard]] const std::vector<std::string>& get_snames() const;  // without "-"

private:
    void* its_;  // CLI11's option, which belongs to CLI11's App
};

class App {
public:
    App(const std::string& description, const std::string& name);
    ~App();
    App(const App&) = delete;
    App& operator=(const App&) = delete;

    void set_help_flag(const std::string& names, const std::string& help);
    void add_version_flag();  // --version prints "NAME (ACP) 4.0.0 (1cc6b69)" and ends
    void footer(const std::string& text);
    void usage(const std::string& line);  // instead of CLI11's own
    void require_subcommand(int count);

    Option* add_flag(const std::string& names, bool& target, const std::string& help = "");
    Option* add_option(const std::string& names, std::string& target, const std::string& help = "");
    Option* add_option(const std::string& names, int& target, const std::string& help = "");
    Option* add_option(const std::string& names,
                       std::uint32_t& target,
                       const std::string& help = "");
    Option* add_option(const std::string& names,
                       std::uint64_t& target,
                       const std::string& help = "");
    Option* add_option(const std::string& names, double& target, const std::string& help = "");
    Option* add_option(const std::string& names,
                       std::optional<std::uint64_t>& target,
                       const std::string& help = "");
    Option* add_option(const std::string& names,
                       std::vector<std::string>& target,
                       const std::string& help = "");
    Option* add_option(const std::string& names,
                       std::vector<int>& target,
                       const std::string& help = "");
    Option* add_option(const std::string& names,
                       std::vector<std::uint64_t>& target,
                       const std::string& help = "");

    // Calls take with the text; it throws a ValidationError when that does not fit.
    template <class Text>
    Option* add_option_function(const std::string& names,
                                const std::function<void(const Text&)>& take,
                                const std::string& help = "") {
        return add_text_function(names, take, help);
    }

    App* add_subcommand(const std::string& name, const std::string& help);
    [[nodiscard]] std::vector<const App*> get_subcommands() const;  // those on the command line
    [[nodiscard]] std::string get_name() const;
    [[nodiscard]] Option* get_option_no_throw(const std::string& name) const;
    [[nodiscard]] std::vector<const Option*> get_options() const;
    [[nodiscard]] Option* get_option(const std::string& name) const;

    // Throws a ParseError. The words are those behind the program's name.
    void parse(int argc, const char* const* argv);
    void parse(const std::vector<Word>& words);

    // Prints what --help has to say, or an error with the program's name before it and a hint
    // below. Returns 0 after --help and --version, else 1 or what CLI11 would.
    [[nodiscard]] int exit(const ParseError& error) const;

private:
    struct Inside;
    explicit App(std::unique_ptr<Inside> inside);
    Option* keep(void* option) const;
    Option* add_text_function(const std::string& names,
                              const std::function<void(const std::string&)>& take,
                              const std::string& help);
    std::unique_ptr<Inside> inside_;
};

}  // namespace acp::cli
