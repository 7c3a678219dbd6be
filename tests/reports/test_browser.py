"""The audit report in a real browser."""

import io
import json
import re
import unicodedata

import numpy as np
import pytest

import fairridge
from fairridge import FairRidgeClassifier
from fairridge.reports.html import numbers

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NASTY = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
LEFT, RIGHT, END, HOME = ("ArrowLeft", 37), ("ArrowRight", 39), ("End", 35), ("Home", 36)


@pytest.fixture(scope="module")
def files(tmp_path_factory, binomial_report, gaussian_report):
    folder = tmp_path_factory.mktemp("pages")
    for name, report in (("binomial", binomial_report), ("gaussian", gaussian_report)):
        (folder / f"{name}.html").write_text(report.html, encoding="utf-8")
    return folder


@pytest.fixture
def page(browser, files):
    browser.color_scheme("light")
    browser.open(files / "binomial.html")
    return browser


def reading(page, label):
    """The figure beside a label in the bar that stays in view."""
    return page.run(
        "[...document.querySelectorAll('.readings div')].find("
        f"box => box.querySelector('dt').textContent === {json.dumps(label)})"
        ".querySelector('dd').textContent"
    )


def shown_texts(page):
    return page.run(
        "Object.fromEntries([...document.querySelectorAll('[data-t]')]"
        ".map(place => [place.dataset.t, place.textContent]))"
    )


def test_opens_from_disk_without_errors_or_requests(page, files):
    assert page.messages == []
    assert page.requests == [(files / "binomial.html").as_uri()]
    assert page.run("document.documentElement.classList.contains('scripted')")


def test_the_slider_moves_every_number(page, binomial_report):
    contents = binomial_report.contents
    data = json.loads(page.run("document.getElementById('series').textContent"))
    for position in (0, contents.free, contents.chosen):
        page.run(f"document.getElementById('r').value = {position};"
                 "document.getElementById('r').dispatchEvent(new Event('input'))")  # fmt: skip
        for key, text in shown_texts(page).items():
            texts = data["views"][data["view"]].get(key) or data["texts"][key]
            assert text == texts[0 if len(texts) == 1 else position]
        assert reading(page, "achieved") == numbers.percent(contents.achieved[position], 2)
        key = page.run("document.querySelector('.key div:nth-child(2) dd').textContent")
        assert key == numbers.percent(contents.achieved[position], 2)
        auc = contents.accuracy[0].held_out[position]
        assert reading(page, "AUC") == numbers.ratio(auc)
        decisions = contents.main.decisions
        changed = decisions.all_gained[position] + decisions.all_lost[position]
        assert reading(page, "decisions changed") == str(changed)
    assert page.messages == []


def test_coefficients_are_those_of_the_path(page, binomial_report, people, people_X):
    contents = binomial_report.contents
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"])
    path = model.path(people_X, people["binomial"], unfairness=contents.unfairness)
    for position in (0, contents.chosen, contents.free):
        page.run(f"document.querySelector('[data-go]').dataset.go = {position};"
                 "document.querySelector('[data-go]').click()")  # fmt: skip
        rows = page.run(
            "[...document.querySelectorAll('table.coefficients tbody tr')].map("
            "row => [...row.children].map(cell => cell.textContent))"
        )
        found = {row[0]: row[1] for row in rows}
        for j, name in enumerate(path.sensitive_names):
            assert found[name] == numbers.number(path.alpha[position, j], 4)
        for j, name in enumerate(path.predictor_names):
            assert found[name] == numbers.number(path.beta[position, j], 4)


def test_keys_move_the_slider(page, binomial_report):
    contents = binomial_report.contents
    for _ in range(40):  # with the tabulator, as one without a mouse does
        page.press("Tab", 9)
        if page.run("document.activeElement.id") == "r":
            break
    assert page.run("document.activeElement.id") == "r"
    before = page.run("document.getElementById('reading').textContent")
    page.press(*LEFT)
    assert page.run("Number(document.getElementById('r').value)") == contents.chosen - 1
    after = page.run("document.getElementById('reading').textContent")
    assert before.endswith("(chosen)")
    assert after != before
    assert page.run("document.getElementById('r').getAttribute('aria-valuetext')") == after
    page.press(*HOME)
    assert reading(page, "achieved") == "0.00 %"
    page.press(*END)
    assert page.run("document.getElementById('reading').textContent") == "no bound"
    assert reading(page, "decisions changed") == "0"


def test_buttons_and_charts_move_the_slider(page, binomial_report):
    page.run("document.querySelectorAll('[data-go]')[2].click()")
    assert page.run("Number(document.getElementById('r').value)") == binomial_report.contents.free
    page.run(
        "document.querySelector('#trade-off svg')"
        ".scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    box = page.run(
        "(() => { const b = document.querySelector('#trade-off svg').getBoundingClientRect();"
        "return [b.left, b.top, b.width, b.height] })()"
    )
    page.click(box[0] + 0.12 * box[2], box[1] + box[3] / 2)
    position = page.run("Number(document.getElementById('r').value)")
    assert 0 <= position < 8
    lines = page.run("[...document.querySelectorAll('svg .cursor')].map(l => l.getAttribute('x1'))")
    charts = page.run("[...document.querySelectorAll('svg .cursor')].map("
                      "l => l.closest('svg').dataset).map(d => [Number(d.left), Number(d.room)])"
                     )  # fmt: skip
    shares = [(float(x) - left) / room for x, (left, room) in zip(lines, charts, strict=True)]
    assert np.ptp(shares) < 0.01


def test_held_out_or_training_rows(page, binomial_report):
    contents = binomial_report.contents
    (training,) = [one for one in contents.samples if one.rows == "training"]
    page.run("document.querySelector('input[name=rows][value=training]').click()")
    table = page.run(
        "[...document.querySelector('table.groups').querySelectorAll('tbody tr')].map("
        "row => row.children[2].querySelector('span').textContent)"
    )
    groups = training.audits[contents.chosen].attributes[0].groups
    for text, group in zip(table, groups, strict=True):
        assert text.startswith(numbers.percent(group.selection_rate.value))
    visible = page.run(
        "[...document.querySelectorAll('#groups g[data-view]')].filter("
        "g => getComputedStyle(g).display !== 'none').map(g => g.dataset.view)"
    )
    assert set(visible) == {"training|"}


def test_classes_to_choose_from(browser, people, people_X, tmp_path):
    model = FairRidgeClassifier(0.05, sensitive=["sex"])
    report = fairridge.report(
        model, people_X, people["multinomial"], tmp_path / "m.html", cv=2, bootstrap=2
    )
    browser.open(tmp_path / "m.html")
    cell = "document.querySelector('table.groups tbody tr').children[4].textContent"
    outcomes = [one.outcome for one in report.contents.samples[: len(report.contents.samples) // 2]]
    found = []
    for outcome in outcomes:
        browser.run(
            f"document.getElementById('outcome').value = {json.dumps(outcome)};"
            "document.getElementById('outcome').dispatchEvent(new Event('change'))"
        )
        found.append(browser.run(cell))
    assert len(set(found)) == len(outcomes)
    assert browser.messages == []


def test_scripts_among_the_names_do_not_run(browser, people, tmp_path):
    X = people[["age", "sex", "income", "region"]].rename(
        columns={"sex": NASTY, "income": IMAGE, "age": "__proto__"}
    )
    X[NASTY] = X[NASTY].map({"male": IMAGE, "female": NASTY})
    y = np.where(people["binomial"] == people["binomial"].iloc[0], NASTY, "no")
    model = FairRidgeClassifier(0.05, sensitive=[NASTY, "__proto__"])
    fairridge.report(
        model, X, y, tmp_path / "nasty.html", cv=2, bootstrap=2, title=NASTY, response=IMAGE
    )
    browser.open(tmp_path / "nasty.html")
    browser.run("document.querySelectorAll('[data-go]')[0].click()")
    assert browser.messages == []
    assert browser.requests == [(tmp_path / "nasty.html").as_uri()]
    assert browser.run("document.querySelectorAll('script').length") == 2
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.title") == NASTY
    assert NASTY in browser.run("document.querySelector('#groups h3').textContent")
    first = browser.run("document.querySelector('table.groups tbody th').textContent")
    assert first in (NASTY, IMAGE)


def squeezed(text):
    """Text without spaces, hyphens and ligatures, which a printed line may have anywhere."""
    return re.sub(r"[\s\u00ad\u2010-]+", "", unicodedata.normalize("NFKC", text))


def luminance(color):
    values = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_have_contrast_in_both_schemes(page, scheme):
    page.color_scheme(scheme)
    back = luminance(page.run("getComputedStyle(document.body).backgroundColor"))
    assert (back > 0.5) == (scheme == "light")
    for selector, least in (("main p", 7), (".note", 4.5), ("nav a", 4.5), ("#reading", 4.5)):
        color = page.run(f"getComputedStyle(document.querySelector('{selector}')).color")
        own = luminance(color)
        contrast = (max(own, back) + 0.05) / (min(own, back) + 0.05)
        assert contrast >= least, selector
    for k in range(8):  # lines are graphics: three to one
        own = luminance(page.run(
            "(() => { const e = document.createElement('i'); e.style.color = "
            f"'var(--c{k})'; document.body.append(e); const c = getComputedStyle(e).color;"
            "e.remove(); return c })()"
        ))  # fmt: skip
        assert (max(own, back) + 0.05) / (min(own, back) + 0.05) >= 2.9, k


def test_the_theme_can_be_chosen(page):
    back = "getComputedStyle(document.body).backgroundColor"
    light = page.run(back)
    for _ in range(2):
        page.run("document.getElementById('theme').click()")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    assert luminance(page.run(back)) < luminance(light)


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out(page, width):
    page.resize(width, 800)
    try:
        assert page.run("document.documentElement.scrollWidth") <= width
    finally:
        page.resize(1280, 900)


# Words of text that stand on two lines; digests are longer than any line.
BROKEN_WORDS = """(() => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const home = node.parentElement;
    if (!home.checkVisibility() || home.closest('svg, thead, caption')) continue;
    for (const word of node.data.matchAll(/(?<!\\w)[\\p{L}\\p{N}_]{2,30}(?!\\w)/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top / 8)));
      if (lines.size > 1) found.push(word[0]);
    }
  }
  return found;
})()"""


def test_a_phone_breaks_no_words(page):
    page.resize(390, 800)
    try:
        assert page.run(BROKEN_WORDS) == []
    finally:
        page.resize(1280, 900)


def test_bars_stand_below_their_headings(page):
    """Where there is room, a heading begins over its bars, and numbers follow at their ends."""
    bars = page.run(
        "[...document.querySelectorAll('td.bar')].filter(t => t.checkVisibility()).map(t => {"
        "const head = t.closest('table').tHead.rows[0].cells[t.cellIndex];"
        "const left = e => e.getBoundingClientRect().left;"
        "const range = document.createRange(); range.selectNodeContents(head);"
        "const text = document.createRange(); text.selectNodeContents(t);"
        "return [left(range) - left(t), left(text) - left(t), t.getBoundingClientRect().width]})"
    )
    assert len(bars) > 5
    for heading, number, width in bars:
        assert 0 <= heading < 16
        assert heading < number < width


def test_a_phone_shows_what_matters(page):
    page.resize(390, 800)
    try:
        sizes = page.run(
            "[...document.querySelectorAll('svg.chart text')].filter("
            "t => getComputedStyle(t).display !== 'none').map(t => { const c = t.closest('svg');"
            "return parseFloat(getComputedStyle(t).fontSize) * c.getBoundingClientRect().width"
            " / c.viewBox.baseVal.width })"
        )
        assert len(sizes) > 50
        assert min(sizes) >= 10
        # No column is cut off, and every number says what it is.
        cut = (
            "[...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth)"
            ".map(s => s.ariaLabel)"
        )
        assert page.run(cut) == []
        labels = page.run(
            "[...document.querySelectorAll('td')].filter(t => t.offsetParent).map("
            "t => getComputedStyle(t, '::before').content)"
        )
        assert len(labels) > 50
        assert all(label not in ('""', "none", "normal") for label in labels)
        for table, heading in (("groups", "Ratio"), ("coefficients", "95 % interval")):
            shown = page.run(
                f"[...document.querySelectorAll('table.{table} td')].map(t => t.dataset.label)"
            )
            assert heading in shown
            assert not any("\u00ad" in label for label in shown)
        assert (
            page.run(
                "Math.min(...[...document.querySelectorAll('td, th, p, dd, li')].map("
                "e => parseFloat(getComputedStyle(e).fontSize)))"
            )
            >= 11
        )
    finally:
        page.resize(1280, 900)


HEADINGS = (
    "[...document.querySelectorAll('h2, h3, h4, figcaption, summary')].map(h => "
    "[h.textContent, getComputedStyle(h).breakAfter])"
)


def test_paper_is_complete(page):
    folded = page.run("document.querySelectorAll('details:not([open])').length")
    assert folded > 0
    # What is folded on the screen, and what only a pointer shows there.
    last = page.run(
        "[...document.querySelectorAll('details:last-of-type tbody tr:last-child th')].at(-1)"
        ".textContent"
    )
    words = ("Kolmogorov–Smirnov distance", "standardized mean difference", "Standard error")
    on_screen = squeezed(page.run("document.body.innerText")).count(squeezed(last))
    page.medium("print")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    try:
        headings = page.run(HEADINGS)
        text = squeezed(page.run("document.body.innerText"))
    finally:
        page.run("window.dispatchEvent(new Event('afterprint'))")
        page.medium("screen")
    assert text.count(squeezed(last)) > on_screen
    for one in (last, *words, *(heading for heading, _ in headings)):
        assert squeezed(one) in text
    # No heading is the last line of a sheet.
    assert {after for _, after in headings} == {"avoid"}
    assert page.run("document.querySelectorAll('details:not([open])').length") == folded


@pytest.mark.parametrize("width", [390, 1280])
def test_new_rows_open_without_errors(browser, people, people_X, tmp_path, width):
    first = np.arange(len(people)) % 2 == 0
    model = FairRidgeClassifier(0.02, sensitive=["sex", "age"])
    model.fit(people_X[first], people["binomial"][first])
    place = tmp_path / "new.html"
    fairridge.report(model, people_X[~first], people["binomial"][~first], place, new_rows=True)
    browser.resize(width, 800)
    try:
        browser.open(place)
        assert browser.messages == []
        assert browser.requests == [place.as_uri()]
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert "PSI" in browser.run("document.querySelector('#drift').textContent")
    finally:
        browser.resize(1280, 900)


def test_reads_without_a_script(browser, files, binomial_report):
    browser._call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(files / "binomial.html")
        browser.screenshot(files / "plain.png")
    finally:
        browser._call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.messages == []
    assert not browser.run("document.documentElement.classList.contains('scripted')")
    assert browser.run("getComputedStyle(document.querySelector('.control')).display") == "none"
    achieved = binomial_report.contents.achieved[binomial_report.contents.chosen]
    assert reading(browser, "achieved") == numbers.percent(achieved, 2)


def test_prints_and_shows(page, tmp_path):
    from PIL import Image

    paper = page.pdf()
    assert paper.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 25
    page.screenshot(tmp_path / "page.png", whole=True)
    picture = Image.open(io.BytesIO((tmp_path / "page.png").read_bytes())).convert("RGB")
    colors = np.unique(np.asarray(picture.resize((160, 600))).reshape(-1, 3), axis=0)
    assert len(colors) > 50
