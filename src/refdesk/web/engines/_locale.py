"""Languages and countries in the spellings that vendors want."""

from __future__ import annotations

from typing import Final

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
