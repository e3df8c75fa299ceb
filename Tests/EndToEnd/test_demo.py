# SPDX-License-Identifier: Apache-2.0
"""`tapedeck demo`: the whole main job in one command."""

import re

import media
import pytest
from figures import assert_plays


@pytest.mark.media
def test_the_demo_exports_a_call_of_two(stage):
    demo = stage.run_tapedeck("demo")
    assert demo.exit_code == 0, demo.story()
    # A first user sees the recorder's actions, and nothing of server and cameras.
    assert 0 < sum(" notice " in line for line in demo.messages.splitlines()) <= 12, demo.story()

    paths = re.findall(r"\S+\.mkv", demo.output)
    assert any(path.endswith("call.mkv") for path in paths), f"the exported file is not named\n{demo.story()}"
    exported = next(stage.folder / path for path in paths if path.endswith("call.mkv"))
    assert_plays(exported)
    # As a person would try it.
    assert media.decoder_messages(exported, options=()) == "", media.describe(exported)

    found = media.streams(exported)
    story = media.describe(exported) + "\n" + demo.story()
    assert [stream["codec_type"] for stream in found].count("video") == 2, story
    assert [stream["codec_type"] for stream in found].count("audio") == 2, story
    # Each camera sends what it prefers.
    assert sorted(stream["codec_name"] for stream in found) == ["h264", "opus", "opus", "vp8"], story
    for stream in found:
        first, last = media.span(exported, stream["index"])
        # How late a camera begins is the machine's.
        assert last >= 8 and last > first, story
    titles = {stream.get("tags", {}).get("title") for stream in found}
    assert None not in titles and len(titles) >= 2, f"tracks are not titled by participant: {titles}\n{story}"
    assert float(media.probe(exported)["format"]["duration"]) >= 8, story

    # A row of the table for each track.
    rows = [line for line in demo.output.splitlines() if re.search(r"\b(video|audio)\b", line, re.IGNORECASE)]
    assert len(rows) >= 4, f"no table of four tracks\n{demo.story()}"
