"""Formulas in the text of the pages as $…$, which GitHub and the site draw.

Texts are written with Unicode letters, as in terminals and tables of numbers.
What is a formula is found by its shape.
"""

from __future__ import annotations

import re

LETTERS = {
    "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "ε": r"\varepsilon ", "η": r"\eta ",
    "λ": r"\lambda ", "μ": r"\mu ", "ρ": r"\rho ", "τ": r"\tau ", "Δ": r"\Delta ",
    "ŷ": r"\hat y", "Û": r"\hat U", "Ũ": r"\tilde U", "≤": r"\leq ", "≥": r"\geq ",
    "Σ": r"\Sigma ", "≈": r"\approx ", "∝": r"\propto ", "≠": r"\neq ", "→": r"\to ",
    "∞": r"\infty ",
    "−": "-", "·": r"\cdot ", "‖": r"\Vert ", "′": "'", "ᵀ": r"^\top ",
    "₁": "_1", "₂": "_2", "ᵢ": "_i", "ⱼ": "_j",
}  # fmt: skip
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
FUNCTIONS = re.compile(r"\b(COV|COR|VAR|OLS|NCLM|FRRM|FGRRM|EO|IF)\b")
# From the longest to the shortest: the first that fits is taken.
FORMULA = re.compile(
    r"\|(?:COV|COR)(?:\([^()]*\))?\|"  # absolute values
    r"|‖[^‖]+‖²?"
    r"|√\([^()]*(?:\([^()]*\))?[^()]*\)|√\w"
    r"|\|[αyΔ][^|]{0,12}\|"
    r"|(?:COV|COR|VAR)\([^()]*\)|COR²|COV²"
    r"|R²(?:_(?:S|EO))?(?:\(OLS\))?(?: [=≤] \.\d+)?"
    r"|D_IF|[αβ]_(?:OLS|NCLM|FRRM|FGRRM)|S_[ij]"
    r"|λ\(r\)|λ[₁₂]?(?: (?:=|→) (?:10[⁻⁰¹²³⁴-⁹]+|\d+|∞))?"
    r"|(?<![\w.])0 < r ≤ \.\d+|(?<![\w])r′? (?:=|≤|<|>|≥|≈|→) (?:10[⁻⁰¹²³⁴-⁹]+|\d*\.?\d+)(?!\d)"
    r"|10[⁻⁰¹²³⁴-⁹]+"
    r"|S?[αβ]ᵀ?|[SÛŨ][αβ]|[γεημρτ]²?|[ŷÛŨ]|(?<![\w])r′"
)
# Code, addresses of images and links, HTML and formulas stay as they are.
KEPT = re.compile(r"(`[^`]*`|\]\([^)]*\)|</?[a-z][^>]*>|\$[^$]+\$)")


def typeset(text: str) -> str:
    """Return a text with its formulas between dollars."""
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    """Typeset a line; of a table, cell by cell, where bars are escaped."""
    if not line.startswith("|"):
        return _piece(line)
    cells = re.split(r"(?<!\\)\|", line)
    return "|".join(_piece(cell.replace("\\|", "|")).replace("|", "\\|") for cell in cells)


def _piece(text: str) -> str:
    parts = KEPT.split(text)
    found = "".join(
        part if k % 2 else FORMULA.sub(lambda found: f"${latex(found[0])}$", part)
        for k, part in enumerate(parts)
    )
    return found.replace("$$", " ")  # neighbors are one formula; two dollars would begin a block


def latex(formula: str) -> str:
    """Write one formula in LaTeX, without bars that would end the cell of a table."""
    text = re.sub(r"^\\?\|(.*?)\\?\|$", r"\\lvert \1\\rvert ", formula).replace("|", r"\mid ")
    text = re.sub(r"[⁻⁰¹²³⁴-⁹]+", lambda found: f"^{{{found[0].translate(RAISED)}}}", text)
    text = re.sub(r"√\((.*)\)$", r"\\sqrt{\1}", text)
    text = re.sub(r"√(\w)", r"\\sqrt{\1}", text)
    text = FUNCTIONS.sub(r"\\mathrm{\1}", text.replace("_", "_ "))
    text = re.sub(r"_ (\\mathrm\{\w+\}|\w)", r"_{\1}", text)
    for letter, command in LETTERS.items():
        text = text.replace(letter, command)
    # Spaces matter after a command and before a letter only.
    text = re.sub(r"(\\[A-Za-z]+) +(?=[A-Za-z])", r"\1~", text)
    return text.replace(" ", "").replace("~", " ")
