#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One class is one object: no class is cut into files that call each other in a circle, none has more than FIELDS_MAX
fields (plain structs without functions of their own may), and no file of src/gma has more than GMA_LINES_MAX lines.
docs/house-rules.md ("Size") has the reasons. Tests: tests/tools/check_classes_test.py.

Reads text as clang-format lays it out: a definition outside its class begins in the first column. A call is a name of
the same class before a parenthesis, by itself, after "this->" or after the class's name.
"""
import pathlib
import re
import sys

import sources

FIELDS_MAX = 20
GMA_LINES_MAX = 300

# Classes that may have more fields ("folder/Class"), each with the reason why it is one object all the same.
MORE_FIELDS = {
    "sim/Plan": "settings that a seed decides, all public; its functions look at them and keep nothing",
}

NOT_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.S)
# What is returned, then "Class::Inner::function(".
DEFINITION = re.compile(r"^(?![\s}#])[^\n;=(]*?\b((?:[A-Z]\w*::)+)(~?\w+)\s*\(", re.M)
BRACE = re.compile(r"[{}]")
ALIGNAS = re.compile(r"alignas\s*\([^)]*\)")
# The head of a class's definition, up to its opening brace; the last such word counts, others stand in templates.
TYPE = re.compile(r"(?:.*\b)?(?:class|struct|union)\s+((?:\w+::)*\w+)[^;{}()]*$", re.S)
TYPE_BEGINS = re.compile(r"\b(?:class|struct|union)\s[^;{}()]*(?:\([^()]*\)[^;{}()]*)?\{")
ACCESS = re.compile(r"^(?:(?:public|protected|private)\s*:\s*)+")
# Statements in a class that are neither fields nor functions.
NEITHER = re.compile(r"(?:using|typedef|friend|static_assert|template|enum|(?:inline |constexpr )*static)\b|"
                     r"(?:class|struct|union)\s+\w+$|$")


def code_of(text: str) -> str:
    """The text without comments and with empty literals, line for line."""
    def blank(found: re.Match) -> str:
        return ("" if found.group().startswith("/") else '""') + "\n" * found.group().count("\n")
    return NOT_CODE.sub(blank, text)


def end_of_block(code: str, opening: int) -> int:
    """Where the brace stands that closes the one at `opening`."""
    depth = 0
    for found in BRACE.finditer(code, opening):
        depth += 1 if found.group() == "{" else -1
        if depth == 0:
            return found.start()
    return len(code)


def is_value(code: str, close: int) -> bool:
    """Whether the block that ends at `close` is a value in a list or of a field, and no body."""
    return code[close + 1:].lstrip()[:1] in {",", "{", ";"}


# What calls what.


def body_after(code: str, begin: int) -> str:
    """What a definition whose parameters begin at `begin` says up to the end of its body; "" of a declaration."""
    at = begin
    while found := re.compile(r"[{;]").search(code, at):
        if found.group() == ";":
            return ""
        at = end_of_block(code, found.start())
        if not is_value(code, at):
            return code[begin:at]
    return ""


def definitions(code: str):
    """Yields (class, function, body) of every member function that is defined outside its class."""
    for found in DEFINITION.finditer(code):
        yield found.group(1)[:-2], found.group(2), body_after(code, found.end())


def calls_across(name: str, files: dict[str, dict[str, str]]) -> dict[str, dict[str, set[str]]]:
    """{file: {other file: functions that are called there}} of one class.

    files: {file: {function: body}}
    """
    call = re.compile(rf"(?:(?<![\w:.>~])|\bthis->|\b{name.split('::')[-1]}::)(~?\w+)\s*\(")
    calls: dict[str, dict[str, set[str]]] = {}
    for file, functions in files.items():
        called = set(call.findall("\n".join(functions.values()))) - functions.keys()
        calls[file] = {other: called & theirs.keys() for other, theirs in files.items() if called & theirs.keys()}
    return calls


def reachable(calls: dict[str, dict[str, set[str]]], start: str) -> set[str]:
    reached, todo = set(), list(calls[start])
    while todo:
        here = todo.pop()
        if here not in reached:
            reached.add(here)
            todo.extend(calls[here])
    return reached


def check_circles(source: pathlib.Path) -> list[str]:
    classes: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for file in sorted(source.rglob("*.cpp")):
        for name, function, body in definitions(code_of(file.read_text())):
            functions = classes.setdefault((file.parent.relative_to(source).as_posix(), name), {}) \
                               .setdefault(file.name, {})
            functions[function] = functions.get(function, "") + body
    problems = []
    for (folder, name), files in sorted(classes.items()):
        calls = calls_across(name, files)
        circle = [file for file in sorted(files) if file in reachable(calls, file)]
        if circle:
            edges = [f"{file} calls {', '.join(sorted(functions))} of {other}" for file in circle
                     for other, functions in sorted(calls[file].items()) if other in circle]
            problems.append(f"src/{folder}: class {name} is cut into files that call each other in a circle; make its "
                            f"parts classes: {'; '.join(edges)}")
    return problems


# How many fields.


def statements(body: str):
    """Yields (statement, block) of a class's body; block: what a nested class has in its braces, else None."""
    begin = at = 0
    while found := re.compile(r"[{;]").search(body, at):
        at = found.start()
        statement = ACCESS.sub("", body[begin:at].strip())
        if found.group() == "{":
            close = end_of_block(body, at)
            head = ALIGNAS.sub("", statement)
            if TYPE.match(head) and not head.startswith("enum"):
                yield head, body[at + 1:close]
            elif is_value(body, close):
                at = close + 1  # the statement goes on
                continue
            else:
                yield statement, None
            begin = at = close + 1
        else:
            yield statement, None
            begin = at = at + 1


def plain(statement: str) -> str:
    """A declaration without template arguments, attributes and value: of "std::array<T, 2> a_{f()}" "std::array a_"."""
    typed = re.sub(r"decltype\s*\([^()]*\)", "auto", ALIGNAS.sub("", statement))
    text, before = re.split(r"\{|(?<![<>=!])=(?!=)", typed, maxsplit=1)[0], None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    return re.sub(r"\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)", "", text).strip()


def is_field(statement: str) -> bool:
    if NEITHER.match(statement) or "operator" in statement:
        return False
    text = plain(statement)
    if re.search(r"\(\s*\*\s*\w+\s*\)", text):
        return True  # a pointer to a function
    named = re.fullmatch(r".*[\w>&*\s][&*\s]\w+(?:\s*\[.*\])?(?:\s*:\s*\w+)?", text, re.S)
    return "(" not in text and named is not None


def is_function(statement: str) -> bool:
    """Whether it is a function that somebody wrote."""
    return not NEITHER.match(statement) and not is_field(statement) and "(" in statement \
        and not re.search(r"=\s*(?:default|delete|0)$", statement)


def classes_in(code: str):
    """Yields (class, fields, whether it has functions of its own) of every class that the text defines."""
    at = 0
    while found := TYPE_BEGINS.search(code, at):
        head = TYPE.search(ALIGNAS.sub("", found.group()[:-1]))
        at = found.end()
        if head and not re.search(r"\benum\s*$", code[:found.start()]):
            close = end_of_block(code, found.end() - 1)
            yield from class_of(head.group(1), code[found.end():close])
            at = close


def class_of(name: str, body: str):
    fields, has_functions = 0, False
    for statement, block in statements(body):
        if block is not None:
            yield from class_of(f"{name}::{TYPE.match(statement).group(1)}", block)
        else:
            fields += is_field(statement)
            has_functions |= is_function(statement)
    yield name, fields, has_functions


def check_fields(source: pathlib.Path, more_fields: dict[str, str]) -> list[str]:
    problems, excused = [], set()
    for file in sorted(p for p in source.rglob("*") if p.suffix in {".hpp", ".cpp"}):
        for name, fields, has_functions in classes_in(code_of(file.read_text())):
            if fields <= FIELDS_MAX or not has_functions:
                continue
            known = f"{file.parent.relative_to(source).as_posix()}/{name}"
            if known in more_fields:
                excused.add(known)
            else:
                problems.append(f"src/{file.relative_to(source).as_posix()}: class {name} has {fields} fields, at most "
                                f"{FIELDS_MAX}: find its second duty and make it a class")
    return problems + [f"lint/check_classes.py: MORE_FIELDS names {name}, which needs it no more"
                       for name in sorted(more_fields.keys() - excused)]


def check_lines(source: pathlib.Path) -> list[str]:
    problems = []
    for file in sorted((source / "gma").glob("*.?pp")):
        lines = file.read_text().count("\n")
        if lines > GMA_LINES_MAX:
            problems.append(f"src/gma/{file.name}:{GMA_LINES_MAX + 1}: {lines} lines, at most {GMA_LINES_MAX} in gma")
    return problems


def main(root: pathlib.Path, more_fields: dict[str, str]) -> int:
    source = root / "src"
    problems = check_circles(source) + check_fields(source, more_fields) + check_lines(source)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_given(), MORE_FIELDS))
