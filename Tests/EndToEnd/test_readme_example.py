# SPDX-License-Identifier: Apache-2.0
"""The example of README.md is a test that passes."""

import pathlib
import re


def test_the_example_of_the_readme(stage):
    text = pathlib.Path(__file__).with_name("README.md").read_text()
    names = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], names)  # noqa: S102
    names["test_a_call_is_recorded"](stage)
