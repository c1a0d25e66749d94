"""The questions under "Check yourself": well-formed, right as cells print it, and answering back.

The browser sees one question of each kind, with the mouse and with the keyboard alone, light and
dark, on a phone; what axe-core and the width of a page have to say is asked in `test_browser`.
"""

import re

import nbformat
import pytest

from tests.book.test_chapters import CHAPTERS, printed_lines
from tests.paths import HTML

CHECK = re.compile(
    r"^````\{admonition\} Check yourself\n:class: check\n(.*?)^````$", re.MULTILINE | re.DOTALL
)
ANSWER = re.compile(
    r"^```\{admonition\} Answer\n:class: dropdown\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
NUMBER = r"[-−]?\d+(?:\.\d+)?(?:e-?\d+)?"
VALUE = re.compile(rf"\s*\*\*({NUMBER})\*\*(?: ± ({NUMBER}))?\.? ")
SLIP = re.compile(rf"\*\*({NUMBER})\*\*")
ITEM = re.compile(r"^(?:(\d)\.|-) (.*?)(?=^(?:\d\.|-) |\Z)", re.MULTILINE | re.DOTALL)


def number(text):
    return float(text.replace("−", "-"))


class Question:
    """One question, taken apart as the page takes it apart."""

    def __init__(self, source):
        answer = ANSWER.search(source)
        assert answer, f"no answer beneath {source[:60]!r}"
        self.body, self.answer = source[: answer.start()], answer[1]
        self.options = [text for digit, text in ITEM.findall(self.body) if digit]
        self.replies = [text for _, text in ITEM.findall(self.answer)]
        self.value = None if self.options else VALUE.match(self.answer)


def questions(notebook):
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return [Question(found) for text in texts for found in CHECK.findall(text)]


ALL = [
    pytest.param(question, nbformat.read(path, as_version=4), id=f"{name}-{i}")
    for name, path in CHAPTERS.items()
    for i, question in enumerate(questions(nbformat.read(path, as_version=4)), 1)
]
CHOICES = [p for p in ALL if p.values[0].options]
VALUES = [p for p in ALL if not p.values[0].options]


def test_every_question_is_seen():
    """A fence or a class with a slip in it would leave a question unasked, and untested."""
    for path in CHAPTERS.values():
        notebook = nbformat.read(path, as_version=4)
        text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
        assert text.count("} Check yourself") == len(questions(notebook)), path


@pytest.mark.parametrize(("question", "notebook"), CHOICES)
def test_one_answer_is_right_and_every_other_has_its_reason(question, notebook):
    assert 2 <= len(question.options) == len(question.replies) <= 5
    assert sum(reply.startswith("Right. ") for reply in question.replies) == 1
    assert all(len(reply.split()) >= 5 for reply in question.replies)
    assert len(set(question.options)) == len(question.options)
    assert not re.search(r"\{(?:doc|ref|prf:ref)\}|\]\(", "".join(question.options))


@pytest.mark.parametrize(("question", "notebook"), VALUES)
def test_the_expected_number_is_printed_by_a_cell(question, notebook):
    """The answer quotes a printed line, and the number in it agrees with the one expected."""
    assert question.value, question.answer
    value = number(question.value[1])
    near = number(question.value[2]) if question.value[2] else 1e-9 * abs(value)
    lines = printed_lines(notebook)
    quoted = [
        q for q in re.findall(r"`([^`\n]+)`", question.answer) if any(q in line for line in lines)
    ]
    assert quoted, f"no line that a cell prints is quoted in {question.answer!r}"
    printed = [number(n) for q in quoted for n in re.findall(NUMBER, q)]
    assert any(abs(p - value) <= near for p in printed), (value, quoted)
    for reply in question.replies:
        assert SLIP.match(reply), reply
        assert abs(number(SLIP.match(reply)[1]) - value) > 2 * near, reply
        assert len(reply.split()) >= 5


@pytest.fixture
def page(browser):
    page = browser.new_context(viewport={"width": 1300, "height": 900}).new_page()
    page.goto((HTML / "book/foundations/regularized_approximation.html").as_uri())
    yield page
    page.context.close()


def with_buttons(page):
    return page.locator(".admonition.check:has(.kb-choice)").first


def with_field(page):
    return page.locator(".admonition.check:has(.kb-value)").first


def test_nothing_is_given_away_before_an_answer(page):
    for box in page.locator(".admonition.check").all():
        text = box.inner_text()
        assert "Right." not in text
        assert "Answer\n" not in text
        assert not box.locator(".kb-replies").is_visible()
        assert box.locator("[role=status]").inner_text() == ""


def test_each_choice_replies_with_its_own_reason(page):
    box = with_buttons(page)
    replies = set()
    for button in box.locator(".kb-choice").all():
        button.click()
        reply = box.locator("[role=status]").inner_text()
        right = reply.startswith("Right.")
        assert right or reply.startswith("No.")
        assert button.get_attribute("data-mark") == ("✓" if right else "✗")
        replies.add(reply)
    assert len(replies) == box.locator(".kb-choice").count()
    assert sum(reply.startswith("Right.") for reply in replies) == 1


def test_a_choice_is_made_with_the_keyboard_alone(page):
    box = with_buttons(page)
    box.locator(".kb-choice").first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('li:nth-child(2) > .kb-choice')")
    page.keyboard.press("Enter")
    assert re.match(r"Right\.|No\.", box.locator("[role=status]").inner_text())
    assert box.locator("[data-mark]").count() == 1


def test_a_number_is_compared_within_its_tolerance(page):
    box = with_field(page)
    field, reply = box.locator("input"), box.locator("[role=status]")
    box.get_by_role("button", name="Show the answer").click()
    solution = reply.inner_text()
    found = VALUE.match(f"**{solution.split()[0]}** ± {solution.split()[2].rstrip('.')} ")
    value, near = number(found[1]), number(found[2])

    def say(text):
        field.fill(text)
        field.press("Enter")
        return reply.inner_text()

    assert say(f"{value + 0.9 * near:.6g}").startswith("Right.")
    assert solution[:20] in reply.inner_text()
    assert "not it" in say(f"{value + 1.5 * near:.6g}")
    assert say(f"{value}".replace(".", ",")).startswith("Right.")
    assert say(f"{value * 100:.6g} %").startswith("Right.")
    assert say(f"{value * 7:.6g}/7").startswith("Right.")
    assert "is not a number" in say("a lot")
    assert "is not a number" in say("")


def test_a_known_slip_gets_its_reason(page):
    """The number that a slip leads to is named in the page itself."""
    box = page.locator(".admonition.check:has(.kb-value):has(.kb-replies > div:nth-child(2))").first
    slip = box.locator(".kb-replies > div:nth-child(2)").text_content()
    box.locator("input").fill(re.search(NUMBER, slip)[0])
    box.get_by_role("button", name="Check").click()
    assert box.locator("[role=status]").inner_text().startswith("No.")
    assert "not it" not in box.locator("[role=status]").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_questions_fit_a_phone(page, theme):
    page.set_viewport_size({"width": 390, "height": 800})
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    for box in page.locator(".admonition.check").all():
        for button in box.locator(".kb-choice, .kb-button").all():
            assert button.bounding_box()["height"] >= 24  # WCAG 2.2, target size
            button.click()
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)


def test_on_paper_the_reasons_stand_openly(page):
    page.emulate_media(media="print")
    box = with_field(page)
    assert not box.locator(".kb-value").is_visible()
    assert box.locator(".kb-replies").is_visible()
