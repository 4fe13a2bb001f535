"""Texts that ask for a title, a summary or the like of the very conversation they stand in."""

from __future__ import annotations

import re
from typing import Final

_HEAD_CHARS: Final = 800
"""Such a text says at its beginning what it wants."""

_CLAUSE_END: Final = re.compile(r"[.!?:;,\n]++")
_POLITE: Final = frozenset(
    {
        *("please", "now", "ok", "okay", "can", "could", "would", "you", "your", "task", "is"),
        *("to", "kindly"),
    }
)
_VERBS: Final = frozenset(
    {
        *("analyze", "analyse", "briefly", "compose", "condense", "create", "describe", "extract"),
        *("generate", "give", "make", "name", "output", "predict", "produce", "progressively"),
        *("propose", "provide", "reply", "respond", "return", "review", "suggest", "summarise"),
        *("summarize", "update", "write"),
    }
)
_WRITTEN: Final = frozenset(
    {
        *("follow-up", "follow-ups", "gist", "memories", "memory", "name", "names", "queries"),
        *("questions", "recap", "subject", "suggestion", "suggestions", "summaries", "summarise"),
        *("summarises", "summarize", "summarizes", "summarizing", "summary", "tag", "tags"),
        *("title", "titles", "topic", "topics"),
    }
)
_ABOUT: Final = re.compile(
    r"\b(?:(?:this|our|entire|partial)[ ](?:chat|conversation|dialogue|discussion|session|thread)"
    r"|(?:the|following|above)[ ](?:chat|conversation|dialogue|discussion|session|transcript)"
    r"(?![ ](?:about|at|between|by|from|in|of|on|with)\b)"
    r"|(?:chat|conversation|message)[ ]history|conversation[ ](?:so[ ]far|above|below)"
    r"|messages?[ ]above|lines[ ]of[ ]conversation)\b",
    re.IGNORECASE,
)
_HAN: Final = re.compile(
    "(?:(?:以上|上述|上面|下面|以下|这段|這段|这个|這個|本次|我们|我們|当前|當前)的?"
    "(?:对话|對話|会话|會話|聊天|谈话)|(?:对话|對話|聊天)(?:内容|內容|历史|歷史|记录|記錄)"
    "|这句话的(?:简要)?主题)"
)
_HAN_WRITTEN: Final = re.compile("(?:标题|標題|总结|總結|摘要|概括|主题|主題|标签|標籤)")


def is_about_conversation(text: str) -> bool:
    """Whether a text tells the model to write something about the conversation itself."""
    head = text[:_HEAD_CHARS]
    if _HAN.search(head) and _HAN_WRITTEN.search(head):
        return True
    if _ABOUT.search(head) is None:
        return False
    told = (_first_word(clause) in _VERBS for clause in _CLAUSE_END.split(head))
    return any(told) and any(_bare(word) in _WRITTEN for word in head.lower().split())


def _first_word(clause: str) -> str:
    words = (_bare(word) for word in clause[:200].lower().split())
    return next((word for word in words if word and word not in _POLITE), "")


def _bare(word: str) -> str:
    return word.strip(".,:;!?*#()\"'`-")
