"""Languages and countries in the spellings that vendors want."""

from __future__ import annotations

import re
from typing import Final

from babel.languages import get_official_languages

_SCRIPTS: Final = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")),
)
_ENGLISH: Final = re.compile(
    r"\b(?:the|and|with|from|what|which|who|whose|when|where|why|how|does|did|are|was|were|latest)\b",
    re.IGNORECASE,
)

_CHINESE: Final = {
    "zh": "zh-cn",
    "zh-hans": "zh-cn",
    "zh-sg": "zh-cn",
    "zh-hant": "zh-tw",
    "zh-hk": "zh-tw",
    "zh-mo": "zh-tw",
}
_WITH_REGION: Final = frozenset({"pt-br", "pt-pt", "zh-cn", "zh-tw", "es-419"})


def google_language(language: str) -> str:
    """Return Google's ``hl``: a plain language, except where Google tells its forms apart."""
    code = normal(language)
    code = _CHINESE.get(code, code)
    return code if code in _WITH_REGION else base(code)


def normal(language: str) -> str:
    """Return a language code in lower case, with hyphens."""
    return language.strip().lower().replace("_", "-")


def base(language: str) -> str:
    """Return the language alone, without script and region."""
    return normal(language).split("-")[0]


def is_traditional_chinese(language: str) -> bool:
    """Whether this is Chinese in traditional characters."""
    code = normal(language)
    return _CHINESE.get(code, code) == "zh-tw"


def language_in(country: str, text: str) -> str | None:
    """
    Return the language that a text is in, as far as it shows, else the first official one there.

    Args:
        country: Upper-case alpha-2.
        text: What is asked.

    Returns:
        ISO 639; None for a country that Unicode's data do not know.
    """
    official = get_official_languages(country, de_facto=True)
    if not official:
        return None
    for language, script in _SCRIPTS:
        if script.search(text):
            # What is written in Chinese signs alone may be Japanese.
            return "ja" if language == "zh" and official[0] == "ja" else language
    # Norway's, like most lists of languages, has the written form.
    return "en" if _ENGLISH.search(text) else base(official[0].replace("no", "nb"))
