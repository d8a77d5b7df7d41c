"""The kit for pictures: a figure is drawn once for a notebook, and has its names for readers."""

from __future__ import annotations

import base64

from tacit import plotting


def test_a_notebook_is_given_one_picture_in_two_forms() -> None:
    made = plotting.figure(3, 2)
    ((one,),) = plotting.axes(made, 1, 1)
    plotting.title(one, 'a "title" <b>', "detail")
    bundle, metadata = made._repr_mimebundle_(include=None, exclude=None)
    image, size = made._repr_png_()
    assert base64.b64decode(bundle["image/png"]) == image
    assert metadata == {"image/png": size}
    assert bundle["text/html"] == made._repr_html_()
    assert 'alt="a &quot;title&quot; &lt;b&gt;"' in bundle["text/html"]


def test_series_differ_without_colour() -> None:
    looks = [plotting.series(place) for place in range(10)]
    assert len({(look.marker, str(look.dash), look.filled) for look in looks}) == 10
    assert {"markerfacecolor", "linestyle"} <= set(looks[0].line())
