"""What commands print and write: files are looked at before anything is spent."""

import pytest

from tacit.cli.shared.output import check_files, note, print_json, print_table, working
from tacit.errors import UsageError


def test_a_table_is_as_wide_as_its_cells_where_nobody_reads_it(capsys):
    long = "x" * 300
    print_table(["name", "[bold]n"], [[long, "1"], ["b", "22"]], right=[1], title="all")
    lines = capsys.readouterr().out.splitlines()
    assert "all" in lines[0]
    assert any(long in line and line.rstrip().endswith(" 1") for line in lines)
    assert any("[bold]n" in line for line in lines)  # names are text, never markup


def test_notes_go_beside_what_is_piped(capsys):
    with working("asking"):
        note("paid")
        print_json({"näme": [1, None]})
    printed = capsys.readouterr()
    assert printed.err == "paid\n"
    assert printed.out == '{\n  "näme": [\n    1,\n    null\n  ]\n}\n'


@pytest.mark.parametrize(
    ("plot", "certificates", "why"),
    [
        ("a.gif", (), "plot"),
        (None, ("a.txt",), "certificate"),
        (None, ("a.json", "nowhere/a.json"), "nowhere"),
    ],
)
def test_a_file_that_could_not_be_written_is_refused(
    plot, certificates, why, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=why):
        check_files(plot, certificates)
    assert list(tmp_path.iterdir()) == []
