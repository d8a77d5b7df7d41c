"""Bytes that no CSV file should hold."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = [
    *(b"a", b",", b",", b'"', b'"', b'""', b"\n", b"\n", b"\r\n", b"\r", b" ", b"#", b"\0"),
    *(
        b"\xff",
        b"\xc3\xa9",
        b"\xc3",
        b"\xef\xbb\xbf",
        b"\xe9",
        b"NA",
        b'"x,y"',
        b";",
        b"'",
        b"\x81",
    ),
]
hostile = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join),
    st.binary(max_size=60),
)
