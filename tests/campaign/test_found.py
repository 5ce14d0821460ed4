"""Files that were found to abort, hang or puzzle a reader: each is refused in a sentence now."""

from __future__ import annotations

import pytest

from tests.campaign.files import FOUND, Tally, keep, read_again

PATHS = sorted(path for path in FOUND.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_once(path):
    if path.name.endswith((".mps", ".mps.gz", ".lp")):
        pytest.importorskip("highspy", exc_type=ImportError)
    assert read_again(path)["fault"] == ""


def test_findings_are_kept_where_they_are_read_again(tmp_path):
    tally = Tally(findings=[("a.cnf", "died (-6)", b"p cnf"), ("s_b.mtx", "no end in 20 s", b"%%")])
    paths = keep(tally, 7, tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["seed-7-0/a.cnf", "seed-7-1/s_b.mtx"]
    assert sorted(tmp_path.glob("*/*")) == paths
    for path in paths:
        found = read_again(path)
        assert (found["read"], found["fault"]) == (False, "")
