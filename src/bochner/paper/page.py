"""The page: the paper's story with our figures, numbers and code, as one HTML file."""

from __future__ import annotations

import html
import io
import keyword
import re
import tokenize
from collections.abc import Sequence
from importlib import resources
from typing import Any

from bochner._version import __version__
from bochner.paper.contents import SECTIONS
from bochner.paper.exhibit import Exhibit

LONGEST_TABLE = 24  # rows shown on the page; longer ones are linked


def render(made: Sequence[Exhibit], seeds: int) -> str:
    """HTML of some exhibits, in their sections; images are relative links to files beside it."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(prose=prose, listing=listing)
    template = environment.from_string(resources.files("bochner.paper").joinpath("page.html").read_text("utf-8"))
    by_name = {exhibit.name: exhibit for exhibit in made}
    sections = [(s, [by_name[n] for n in s.names if n in by_name]) for s in SECTIONS]
    claims = [claim for exhibit in made for claim in exhibit.claims]
    return template.render(
        sections=[(section, found) for section, found in sections if found],
        claims=claims,
        n_holding=sum(claim.holds and not claim.tuned for claim in claims),
        n_tuned=sum(claim.holds and claim.tuned for claim in claims),
        n_corrected=sum(claim.holds and claim.corrected for claim in claims),
        seeds=seeds,
        version=__version__,
        longest=LONGEST_TABLE,
    )


def prose(text: str) -> Any:
    """Text with `code` and *emphasis* as HTML."""
    from markupsafe import Markup

    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return Markup(re.sub(r"\*([^*\s][^*]*)\*", r"<em>\1</em>", escaped))


def listing(source: str) -> Any:
    """Python source as HTML, its keywords, strings, comments and numbers marked."""
    from markupsafe import Markup

    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    parts, at = [], 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = _kind(token)
        if kind:
            begin, end = (starts[row - 1] + column for row, column in (token.start, token.end))
            parts += [html.escape(source[at:begin]), f'<span class="{kind}">{html.escape(source[begin:end])}</span>']
            at = end
    return Markup("".join([*parts, html.escape(source[at:])]))


def _kind(token: tokenize.TokenInfo) -> str | None:
    if token.type == tokenize.NAME and keyword.iskeyword(token.string):
        return "keyword"
    return {tokenize.STRING: "string", tokenize.COMMENT: "comment", tokenize.NUMBER: "number"}.get(token.type)
