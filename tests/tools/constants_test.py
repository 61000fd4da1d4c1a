# SPDX-License-Identifier: BSD-3-Clause
"""The constants of the public headers, as other languages see them: tools that make bindings read the declarations behind the
preprocessor (pycparser, cffi), or macros whose text is a number (bindgen). Each constant is one of the two, with the value that
C gives it, and the version is what the library says."""
import glob
import os
import re
import subprocess
import tempfile
import unittest

from pycparser import c_ast, c_parser

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = os.path.join(ROOT, "include")
HEADERS = ["acp.h"] + sorted(f"acp/{os.path.basename(path)}" for path in glob.glob(os.path.join(INCLUDE, "acp", "*.h"))
                             if "compat" not in path)
# What only gcc understands, in the system's headers.
PLAIN = ("-D__attribute__(x)=", "-D__asm__(x)=", "-D__extension__=", "-D__restrict=", "-D__inline=", "-D__signed__=signed",
         "-D__builtin_va_list=int", "-D_Float128=double", "-D__float128=double", "-D__alignof__(x)=8", "-D__inline__=")
PLAIN_NUMBER = re.compile(r"\(?-?(0x[0-9a-fA-F]+|[0-9]+)\)?$")
# Of a type that has no number: a null pointer, or one that is none.
POINTERS = re.compile(r"ACP_(PATTERN|PLAN|TEAM|TEAM_REQUEST|PM|SEGBUF|WSD|CH|REQUEST)_(NULL|NONE)$")
COMPUTED = {"ACP_VERSION"}


def compiler(*words, source):
    return subprocess.run(["gcc", "-std=c11", "-I", INCLUDE, *words, "-x", "c", "-"], input=source, capture_output=True,
                          text=True, check=True).stdout


def enumerators():
    """{name: value text} of all that pycparser finds."""
    text = compiler("-E", "-P", *PLAIN, source="#include <acp.h>\n")
    found = {}

    class Visitor(c_ast.NodeVisitor):
        def visit_Enumerator(self, node):
            value = node.value
            sign = ""
            if isinstance(value, c_ast.UnaryOp):
                sign, value = value.op, value.expr
            found[node.name] = None if value is None else int(sign + value.value, 0)

    Visitor().visit(c_parser.CParser().parse(text, "acp.h"))
    return found


def macros():
    """{name: text} of the object-like macros that our headers define."""
    text = compiler("-E", "-dM", source="#include <acp.h>\n")
    found = dict(re.findall(r"^#define (ACP_\w+) (\S.*)$", text, re.M))
    return {name: value for name, value in found.items() if not name.endswith("_H")}


class Constants(unittest.TestCase):
    def test_every_header_is_read(self):
        for header in HEADERS:
            with self.subTest(header=header):
                c_parser.CParser().parse(compiler("-E", "-P", *PLAIN, source=f"#include <{header}>\n"), header)

    def test_each_constant_is_a_number_for_tools(self):
        seen = enumerators()
        for name, text in macros().items():
            if POINTERS.match(name) or name in COMPUTED or name in ("ACP_API", "ACP_CALLED_BY_POINTER"):
                continue
            self.assertTrue(name in seen or PLAIN_NUMBER.match(text), f"{name} is {text}: no tool sees its value")

    def test_the_value_is_that_of_c(self):
        seen = {name: value for name, value in enumerators().items() if name.startswith("ACP_") and value is not None}
        for name in ("ACP_HANDLE_NULL", "ACP_HANDLE_ALL", "ACP_HANDLE_CONT", "ACP_GA_NULL", "ACP_ATKEY_NULL", "ACP_DIMENSIONS_MAX",
                     "ACP_NONE", "ACP_ERR_ARGUMENT"):
            self.assertIn(name, seen)
        checks = "".join(f"_Static_assert({name} == ({value}), \"{name}\");\n" for name, value in seen.items())
        types = "_Static_assert(_Generic(ACP_HANDLE_ALL, acp_handle_t: 1, default: 0) && " \
                "_Generic(ACP_GA_NULL, acp_ga_t: 1, default: 0), \"types\");\n"
        compiler("-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source="#include <acp.h>\n" + checks + types)

    def test_the_version_of_the_headers_is_that_of_the_library(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "version")
            library = os.environ["ACP_LIBRARY_FOLDER"]
            source = '#include <acp.h>\n#include <stdio.h>\n#if ACP_VERSION < 40000\n#error\n#endif\nint main(void) {\n' \
                     'printf("%d.%d.%d %s\\n", ACP_VERSION_MAJOR, ACP_VERSION_MINOR, ACP_VERSION_PATCH, acp_version()); }\n'
            subprocess.run(["gcc", "-I", INCLUDE, "-x", "c", "-", "-o", program, "-L", library, f"-Wl,-rpath,{library}", "-lacp"],
                           input=source, text=True, check=True)
            header, run_time = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(header, run_time)

    def test_the_package_has_that_version_too(self):
        with open(os.path.join(ROOT, "CITATION.cff"), encoding="utf-8") as file:
            cited = re.search(r"^version: (\S+)$", file.read(), re.M).group(1)
        named = macros()
        self.assertEqual(cited, ".".join(named[f"ACP_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
