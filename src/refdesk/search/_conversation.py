"""
Texts about the very conversation they stand in, which programs write and nobody looks up.

They ask for a title or a summary of it, hand a summary of it over, or have the last answer mended.
"""

from __future__ import annotations

import re
from typing import Final

_HEAD_CHARS: Final = 800
"""Such a text says at its beginning what it is."""
_OPENING_CHARS: Final = 240
_END_CHARS: Final = 200

_CLAUSE_END: Final = re.compile(r"[.!?:;,\n]++")
_POLITE: Final = frozenset(
    {
        *(
            "please",
            "now",
            "ok",
            "okay",
            "can",
            "could",
            "would",
            "you",
            "your",
            "task",
            "is",
            "to",
        ),
        *("kindly", "then", "and"),
    }
)
_VERBS: Final = frozenset(
    {
        *("analyze", "analyse", "briefly", "compose", "condense", "create", "describe", "extract"),
        *("generate", "give", "make", "name", "output", "predict", "produce", "progressively"),
        *("propose", "provide", "reply", "respond", "return", "review", "scan", "suggest"),
        *("summarise", "summarize", "update", "write"),
    }
)
_WRITTEN: Final = frozenset(
    {
        *("follow-up", "follow-ups", "gist", "memories", "memory", "name", "names", "queries"),
        *("questions", "recap", "subject", "suggestion", "suggestions", "summaries", "summarise"),
        *(
            "summarises",
            "summarize",
            "summarizes",
            "summarizing",
            "summary",
            "tag",
            "tags",
            "title",
        ),
        *("titles", "topic", "topics"),
    }
)
_ABOUT: Final = re.compile(
    r"\b(?:(?:this|our|entire|partial) (?:chat|conversation|dialogue|discussion|session|thread)"
    r"|(?:the|following|above) (?:chat|conversation|dialogue|discussion|session|transcript)"
    r"(?! (?:about|at|between|by|from|in|of|on|with)\b)"
    r"|(?:chat|conversation|message) history|conversation (?:so far|above|below)"
    r"|(?:chat|conversation|session|task|thread) title|(?:handoff|hand-off) summary"
    r"|messages? above|lines of conversation)\b",
    re.IGNORECASE,
)
_HAN_ABOUT: Final = re.compile(
    "(?:以上|上述|上面|下面|以下|这段|這段|这个|這個|本次|我们|我們|当前|當前)的?"
    "(?:对话|對話|会话|會話|聊天|谈话)|(?:对话|對話|聊天)(?:内容|內容|历史|歷史|记录|記錄)"
    "|这句话的(?:简要)?主题"
)
_HAN_WRITTEN: Final = re.compile("标题|標題|总结|總結|摘要|概括|主题|主題|标签|標籤")

_SUMMARY: Final = re.compile(
    r"\bsummary of (?:the |this |our |an? )?(?:earlier|previous|prior|preceding|past)\b"
    r"|\bsummary of (?:the|this|our) (?:conversation|session|chat|discussion|work)"
    r" (?:above|before|history|so far|that|to date|up to)\b"
    r"|\b(?:session|conversation) (?:history )?(?:\w+ ){0,5}(?:is being|was|has been|were)"
    r" (?:compacted|condensed|continued|resumed|summari[sz]ed|truncated)\b"
    r"|\blanguage model (?:\w+ ){1,8}produced a summary\b",
    re.IGNORECASE,
)
_FAULT: Final = re.compile(
    r"\b(?:validation|parsing|parse|schema|json|format|output) (?:errors?|feedback|failed)\b"
    r"|\bcorrect your\b|\bdid not (?:satisfy|match|conform|parse|validate|call|return|use)\b"
    r"|\b(?:not|invalid|malformed) (?:valid )?json\b|\bcould not (?:be )?parsed?\b"
    r"|\bfailed to (?:parse|validate|match)\b",
    re.IGNORECASE,
)
_MEND: Final = re.compile(
    r"\btry again\b|\brecall the function\b|\bplease (?:retry|respond|resend)\b"
    r"|\bfix (?:the|these|this|your|all) (?:\w+ )?(?:errors?|issues?|problems?|output)\b"
    r"|\bcorrect (?:the|these|your|it)\b|\brespond (?:again|with valid|only)\b"
    r"|\breturn (?:only |a )?(?:valid|corrected)\b",
    re.IGNORECASE,
)


def about_conversation(text: str) -> str:
    """Return what a text about its own conversation is; empty for all other texts."""
    if _is_task(text[:_HEAD_CHARS]):
        return "a task about the conversation itself"
    asks = text.rstrip().endswith(("?", "？"))
    if not asks and _SUMMARY.search(text[:_OPENING_CHARS]):
        return "a summary of the conversation"
    if not asks and _FAULT.search(text[:_OPENING_CHARS]) and _mends(text):
        return "a retry of the answer before"
    return ""


def _is_task(head: str) -> bool:
    """Whether a text tells the model to write something about the conversation."""
    if _HAN_ABOUT.search(head) and _HAN_WRITTEN.search(head):
        return True
    if _ABOUT.search(head) is None:
        return False
    told = (_first_word(clause) in _VERBS for clause in _CLAUSE_END.split(head))
    return any(told) and any(_bare(word) in _WRITTEN for word in head.lower().split())


def _mends(text: str) -> bool:
    return _MEND.search(text[:_OPENING_CHARS]) is not None or (
        _MEND.search(text[-_END_CHARS:]) is not None
    )


def _first_word(clause: str) -> str:
    words = (_bare(word) for word in clause[:200].lower().split())
    return next((word for word in words if word and word not in _POLITE), "")


def _bare(word: str) -> str:
    return word.strip(".,:;!?*#()\"'`-")
