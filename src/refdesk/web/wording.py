"""
Classes of failure by a vendor's own words.

Vendors give one status for many things: HTTP 200 or 400 for an account without credit, 403 for a
rate limit, 429 for the end of a monthly quota.  English and Chinese wordings, and the codes that
stand beside them (``NO_MORE_CREDITS``), as collected in November 2026.
"""

from __future__ import annotations

import re
from typing import Final

from refdesk.errors import Outcome

MAX_READ_CHARS: Final = 2_000
"""Of a vendor's refusal that are read for its class of failure."""

_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_JOINTS: Final = re.compile(r"[\s_\-'’`\"]+")


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases))


_NOTHING_FOUND: Final = _any(
    r"\bno (?:\w+ )?(?:results?|matches|hits|documents?|rows|records)\b",
    r"\bany (?:\w+ )?(?:results?|matches)\b",
    r"\b(?:0|zero) (?:results?|hits|matches)\b",
    r"\bnothing (?:was )?found\b",
    r"\bnot find any\b",
    r"没有找到|未找到|无结果|没有结果|无匹配|暂无(?:结果|数据)",
)
_RATE: Final = _any(
    r"\b(?:rate|request|throughput|concurren\w+|qps|rpm) ?limit",
    r"\bratelimit",
    r"\b(?:exceed\w*|over|hit) (?:\w+ ){0,3}(?:rate|throughput|concurrency|qps|rpm)\b",
    r"\btoo many (?:\w+ )?(?:requests|calls|queries)\b",
    r"\bthrottl",
    r"\bslow down\b",
    r"\bresource exhausted\b",
    r"\b(?:requests?|quer(?:y|ies)|calls) per (?:second|minute|hour)\b",
    r"频率|限流|限速|过于频繁|太频繁|请求过多",
)
_PERIOD: Final = _any(
    r"\b(?:daily|weekly|monthly|annual|yearly|per (?:day|month|year))\b", r"每日|每天|每月"
)
_CREDIT: Final = _any(
    r"\bquota\b",
    r"\bcredits?\b",
    r"\bbalance\b",
    r"\bbilling\b",
    r"\bpayments?\b",
    r"\binsufficient funds\b",
    r"\b(?:not|have) enough money\b",
    r"\bout of (?:\w+ )?(?:searches|requests|calls|queries|tokens)\b",
    r"\b(?:searches|requests|calls|queries) (?:left|remaining)\b",
    r"\b(?:plan|usage|account|spending|key|budget|search|query) (?:\w+ )?limit\b",
    r"\b(?:budget|plan|allowance) (?:\w+ )?exceed",
    r"\bexceed\w* (?:\w+ ){0,3}(?:budget|plan|allowance)\b",
    r"\b(?:upgrade|renew) your (?:plan|subscription|account)\b",
    r"\b(?:subscription|plan|trial) (?:\w+ )?(?:expired|ended|inactive)\b",
    r"余额|额度|配额|欠费|次数不足|次数已|套餐",
)
_KEY: Final = _any(
    r"\bapi ?keys?\b",
    r"\b(?:access|auth|bearer|subscription|api) ?tokens?\b",
    r"\btokens? (?:\w+ )?(?:invalid|expired|revoked|missing|unknown)\b",
    r"\b(?:invalid|expired|revoked|missing|unknown|wrong|bad) (?:\w+ )?token\b",
    # A key of their own JSON would be named behind it.
    r"\b(?:invalid|expired|revoked|missing|unknown|wrong|bad) (?:\w+ )?key\b(?= *(?:[.!,;)]|$))",
    r"\bcredentials?\b",
    r"\bunauthori[sz]ed\b",
    r"\bunauthenticated\b",
    r"\bauthenticat\w*",
    r"\bauthori[sz]ation\b",
    r"\bnot (?:authori[sz]ed|logged in)\b",
    r"\bforbidden\b",
    r"\b(?:access|permission) denied\b",
    r"密钥|鉴权|未授权|认证|令牌|无权限",
)
_UNSUPPORTED: Final = _any(
    r"\bunsupported\b",
    r"\bnot supported\b",
    r"\b(?:unknown|unrecogni[sz]ed|unexpected) (?:\w+ )?(?:parameter|argument|field|option)",
    r"不支持",
)
_REQUEST: Final = _any(
    r"\binvalid\b",
    r"\bmissing\b",
    r"\brequired\b",
    r"\bmust be\b",
    r"\bmalformed\b",
    r"\bbad request\b",
    r"\btoo long\b",
    r"\bparameters?\b",
    r"参数",
)
_TROUBLE: Final = _any(
    r"\b(?:exceed|exhaust|insufficient|expired|invalid|incorrect|unauthori|unauthentic|denied)",
    r"\b(?:forbidden|throttl|fail|errors?\b|unavailable|overload|suspend|blocked|disabled)",
    r"\b(?:not enough|too many|timed? ?out|r[ua]n out|out of|missing|required|must be|wrong)\b",
    r"\brate ?limit",
    r"\bnot (?:authenticated|authori[sz]ed|allowed|permitted)\b",
    r"\b(?:limit|quota) (?:\w+ )?(?:reached|hit)\b",
    r"\breached (?:\w+ ){0,3}(?:limit|quota)\b",
    r"不足|超限|超出|超过|无效|错误|失败|过期|未授权|频繁|欠费|异常",
)
_ALL_WELL: Final = _any(
    r"^(?:ok(?:ay)?|success(?:ful(?:ly)?)?|done|null|none|true|200|成功)\b", r"操作成功"
)


def class_of(text: str) -> Outcome | None:
    """Return the class of failure that a refusal's words name; None if they name none."""
    words = _words(text)
    if _RATE.search(words) and not (_PERIOD.search(words) and _CREDIT.search(words)):
        return "rate_limited"
    if _CREDIT.search(words):
        return "no_credit"
    if _KEY.search(words):
        return "bad_key"
    if _UNSUPPORTED.search(words):
        return "unsupported_param"
    return "bad_request" if _REQUEST.search(words) else None


def is_trouble(text: str) -> bool:
    """Whether a text that may be about anything tells of a failure."""
    return bool(_TROUBLE.search(_words(text)))


def is_nothing_found(text: str) -> bool:
    """Whether a text says that the search was done and found nothing."""
    return bool(_NOTHING_FOUND.search(_words(text)))


def is_all_well(text: str) -> bool:
    """Whether a text says that all went well."""
    return bool(_ALL_WELL.search(_words(text)))


def _words(text: str) -> str:
    """Return a text in lower case, codes such as NO_MORE_CREDITS as words of their own."""
    apart = _CAMEL.sub(" ", text[:MAX_READ_CHARS])
    return _JOINTS.sub(" ", apart).strip().lower()
