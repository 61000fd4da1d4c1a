#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One name of a type is one thing: what a header of src/ defines in a namespace has a name that no other header gives to
another type, neither in a namespace nor within a class. docs/house-rules.md ("Names") has the reason.
Tests: tests/tools/check_names_test.py.

A type is a class, struct, union, enumeration or alias. Two classes may each have an inner type of one name (State, Parts),
for its owner is named before it; an inner type may not have the name of a type of a namespace, which means something else
elsewhere. Aliases of one name may stand in several namespaces where they stand for the same text. What a .cpp file defines
is its own affair: whoever reads its name has the definition in the same file. So is each program of tools/.

Reads text as clang-format lays it out; what stands in a function's body is nobody else's and is left out.
"""
import pathlib
import re
import sys
from typing import Iterator, NamedTuple

import sources
from check_classes import code_of, end_of_block

PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
ATTRIBUTES = r"(?:\s+alignas\s*\([^()]*\)|\s*\[\[[^\]]*\]\]|\s+__attribute__\s*\(\(.*?\)\))*"
# What begins a block or defines an alias: a namespace, a type with a name, an alias; any other block is last.
BEGINS = re.compile(
    r'(?P<open>\bnamespace(?:\s+(?P<namespace>[\w:]+))?\s*\{|\bextern\s*""\s*\{)|'
    rf"\b(?:enum\s+(?:class|struct)|enum|class|struct|union){ATTRIBUTES}\s+(?P<type>\w+(?:::\w+)*)(?:\s+final)?"
    r"(?:\s*:(?!:)[^;{}]*)?\s*\{|"
    r"\busing\s+(?P<alias>\w+)\s*=\s*(?P<target>[^;]*);|"
    r"(?P<other>\{)")


class Definition(NamedTuple):
    name: str
    owners: tuple[str, ...]  # the namespaces and classes around it, from the outside
    is_inner: bool           # it stands within a class
    target: str              # of an alias: what it stands for; else ""
    offset: int

    @property
    def qualified(self) -> str:
        return "::".join((*(owner for owner in self.owners if owner != "acp"), self.name))


def definitions(code: str, owners: tuple[str, ...] = (), is_inner: bool = False, offset: int = 0) -> Iterator[Definition]:
    """Yields every type that a text without comments and directives defines outside of functions."""
    at = 0
    while found := BEGINS.search(code, at):
        at = found.end()
        if found["alias"]:
            yield Definition(found["alias"], owners, is_inner, " ".join(found["target"].split()), offset + found.start())
            continue
        close = end_of_block(code, found.end() - 1)
        within = code[at:close]
        if found["open"]:
            names = tuple(found["namespace"].split("::")) if found["namespace"] else ()
            yield from definitions(within, (*owners, *names), is_inner, offset + at)
        elif found["type"]:
            *outer, name = found["type"].split("::")
            its_owners = (*owners, *outer)
            yield Definition(name, its_owners, is_inner or bool(outer), "", offset + found.start())
            yield from definitions(within, (*its_owners, name), True, offset + at)
        at = close


def types_of(file: pathlib.Path) -> Iterator[tuple[Definition, int]]:
    """Yields (definition, line) of a header."""
    text = PREPROCESSOR.sub(lambda found: "\n" * found.group().count("\n"), code_of(file.read_text()))
    for one in definitions(text):
        yield one, text.count("\n", 0, one.offset) + 1


def is_one_thing(those: list[Definition]) -> bool:
    """Whether definitions of one name mean the same thing, or are inner types whose owners tell them apart."""
    if all(one.is_inner for one in those) or len({one.qualified for one in those}) == 1:
        return True
    return all(one.target for one in those) and len({one.target for one in those}) == 1


def main(root: pathlib.Path) -> int:
    found: dict[str, list[tuple[Definition, str]]] = {}
    for file in sorted((root / "src").rglob("*.hpp")):
        for one, line in types_of(file):
            found.setdefault(one.name, []).append((one, f"{file.relative_to(root).as_posix()}:{line}"))
    problems = 0
    for name, places in sorted(found.items()):
        if not is_one_thing([one for one, _ in places]):
            problems += 1
            print(f"one name for {len(places)} types, {name}: "
                  f"{', '.join(f'{one.qualified} ({place})' for one, place in places)}; give each a name of its own")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sources.root_given()))
