"""Pages: what they hold is inside one file, texts stay texts, and colours can be told apart."""

import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tutti.page.shell import SERIES, Page, heat_colours, luminance, table

STYLE = (Path(__file__).parents[2] / "tutti" / "page" / "shell.css").read_text(encoding="utf-8")


def some_page():
    page = Page("Bcast <on> this", "by `tutti bench`")
    page.section("times", "Times & ratios")
    page.text("a < b, `x<y>`")
    page.table(
        ["collective", "bytes", "time"],
        [["bcast", 4, ("1 us", 1e-6)], ["scan", None, ("2 us", 2e-6)]],
        "Times",
    )
    page.section("drawn", "What is drawn")
    page.figure('<svg role="img" aria-label="a line"></svg>', "A line", "It rises.", ["x"], [[1], [2.5]])
    page.data({"text": "</script><!--"})
    page.script('say("</script>")')
    page.style("p { content: '</style>' }")
    return page


class Outline(HTMLParser):
    """Opened elements, each with its attributes; what is open where must be closed in turn."""

    VOID = ("meta", "link", "br")

    def __init__(self, text):
        super().__init__()
        self.found, self.open, self.texts = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def test_every_element_is_closed_and_every_link_leads_somewhere():
    outline = Outline(some_page().html())
    assert outline.open == []
    names = [attributes["id"] for _, attributes in outline.found if "id" in attributes]
    assert len(names) == len(set(names))
    links = [attributes["href"] for tag, attributes in outline.found if tag == "a"]
    assert {"#main", "#times", "#drawn"} == set(links)
    assert set(names) >= {link[1:] for link in links}


def test_nothing_is_loaded():
    outline = Outline(some_page().html())
    for tag, attributes in outline.found:
        assert tag not in ("img", "iframe", "object", "base")
        assert "src" not in attributes
        assert attributes.get("href", "#")[0] == "#" or attributes["href"] == "data:,"
    assert not re.search(r"url\(|@import|https?:", some_page().html())


def test_texts_stay_texts():
    text = some_page().html()
    assert "<h1>Bcast &lt;on&gt; this</h1>" in text
    assert "<p>a &lt; b, <code>x&lt;y&gt;</code></p>" in text
    assert 'say("<\\/script>")' in text
    outline = Outline(text)
    data = next(part for part in outline.texts["script"] if part.startswith("{"))
    assert json.loads(data) == {"text": "</script><!--"}


def test_columns_of_numbers_are_told_by_their_cells():
    text = table(["a", "b", "c"], [["x", 1.23456, ("2 us", 2e-6)], ["y", None, ("1 us", 1e-6)]], "Some")
    assert (
        '<td class="number" data-value="1.23456">1.235</td><td class="number" data-value="2e-06">2 us</td>'
        in text
    )
    assert '<td class="number"></td>' in text
    assert '<th scope="row" class="short">x</th>' in text


def test_it_is_written_to_one_file(tmp_path):
    some_page().write(tmp_path / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == some_page().html()


# --- colours ----------------------------------------------------------------------------------------------------------

#: How those without cones for long, middle and short waves see linear RGB (Machado and others 2009, severity 1).
EYES = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}  # fmt: skip
#: CIELAB units. Two colours side by side differ visibly from about 2.
LEAST_DIFFERENCE = 15


def seen(colour, eyes):
    """CIELAB coordinates of #rrggbb as these eyes see it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    red, green, blue = (min(1, max(0, sum(a * b for a, b in zip(row, linear)))) for row in EYES[eyes])
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def contrast(one, other):
    least, most = sorted((luminance(one), luminance(other)))
    return (most + 0.05) / (least + 0.05)


def variables(scheme):
    """The colours of shell.css by name. scheme: 0 light, 1 dark."""
    return dict(re.findall(r"--(\w+): (#\w{6})", re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[scheme]))


@pytest.mark.parametrize("scheme", [0, 1])
@pytest.mark.parametrize("eyes", list(EYES))
def test_series_differ_for_every_reader(scheme, eyes):
    for one, other in itertools.combinations([colours[scheme] for colours in SERIES], 2):
        apart = sum((a - b) ** 2 for a, b in zip(seen(one, eyes), seen(other, eyes))) ** 0.5
        assert apart > LEAST_DIFFERENCE, (one, other)


@pytest.mark.parametrize("scheme", [0, 1])
def test_everything_stands_out_from_its_ground(scheme):
    colours = variables(scheme)
    assert set(colours) == set(variables(1 - scheme))
    for ground in ("paper", "raised"):
        for ink in ("ink", "muted", "accent", "good", "bad"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for series in SERIES:
        assert contrast(series[scheme], colours["paper"]) >= 3, series
    for fill, ink in heat_colours(scheme):
        assert contrast(fill, ink) >= 4.5, fill
