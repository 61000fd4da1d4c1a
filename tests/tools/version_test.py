# SPDX-License-Identifier: BSD-3-Clause
"""The generated version header: it has the version for users and nothing that depends on comments, since processes of a
job must agree on layouts, not on texts."""
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "cmake", "write_version.cmake")


def version_header(header_text):
    """The files that the build writes beside a header with this text."""
    with tempfile.TemporaryDirectory() as folder:
        header, listed, output = (os.path.join(folder, name) for name in ("a.hpp", "listed.txt", "version.hpp"))
        for name, text in ((header, header_text), (listed, header)):
            with open(name, "w", encoding="ascii") as file:
                file.write(text)
        subprocess.run(["cmake", f"-DHEADERS={listed}", f"-DOUTPUT={output}", "-DVERSION=4.0.0", "-DARCHITECTURE=any",
                        f"-DSOURCE={folder}", "-P", SCRIPT], check=True)
        with open(output, encoding="utf-8") as file:
            return file.read()


class Version(unittest.TestCase):
    def test_a_changed_comment_changes_nothing(self):
        self.assertEqual(version_header("// one\n"), version_header("// another\n"))

    def test_acp_version_matches_the_file(self):
        self.assertIn('version = "4.0.0"', version_header(""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
