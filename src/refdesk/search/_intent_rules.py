"""The rules by which `refdesk.search.intent` tells whether a text asks to be looked up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_MOST_WHOLE: Final = 200
"""A text longer than this is no greeting and no sum."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: a text that fits is decided by it."""

    need: bool
    reason: str
    confidence: float
    pattern: re.Pattern[str]
    most_chars: int | None = None
    """A longer text does not fit, whatever the pattern says."""

    def fits(self, text: str) -> bool:
        """Whether the rule decides for this text, its white space folded."""
        short = self.most_chars is None or len(text) <= self.most_chars
        return short and self.pattern.search(text) is not None


def _rule(need: bool, reason: str, confidence: float, *parts: str, whole: bool = False) -> Rule:
    joined = "|".join(parts)
    pattern = re.compile(rf"\A(?:{joined})\Z" if whole else joined, re.IGNORECASE)
    return Rule(need, reason, confidence, pattern, _MOST_WHOLE if whole else None)


_POLITE = (
    r"^\W*+(?:(?:hey|hi|hello|ok|so|now)\W++)?(?:please\s+|pls\s+|kindly\s+)?"
    r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?|i\s+(?:want|need)\s+you\s+to\s+|help\s+me\s+(?:to\s+)?|let's\s+)?"
    r"(?:please\s+)?"
)
_POLITE_HAN = (
    r"^\W*+(?:请你?+|麻烦你?+|你?能不能|能否|可以|帮我|帮忙|给我|替我)*+"
    r"(?:用[^，。]{1,8}?)?"
)

_SIGNS = r"\s.,()+\-*/×÷^%=x"
_FIGURES = r"\s\d.,()"
_MONEY = (
    r"(?:usd|eur|gbp|jpy|cny|rmb|inr|chf|aud|cad|krw|btc|eth|dollars?|euros?|"
    r"pounds?\s+sterling|yen|"
    r"yuan|rupees?|bitcoins?|francs?|won|美元|欧元|英镑|日元|人民币|港币|比特币)"
)

RULES: Final = (
    _rule(
        False,
        "declined",
        0.95,
        r"\b(?:do\s+not|don'?t|without|no\s+need\s+to|never)\s+(?:do\s+(?:a|any)\s+|us(?:e|"
        r"ing)\s+(?:the\s+)?|"
        r"a\s+)?(?:web\s+|internet\s+|online\s+)?(?:search(?:ing)?|google|brows(?:e|ing)|"
        r"look(?:ing)?\s+(?:it\s+|"
        r"this\s+|that\s+)?up)\b",
        r"(?:不要|不用|别|無需|无需|不必|不需要)(?:再)?(?:上网|联网|去)?(?:搜索|搜|查询|查找|"
        r"检索|联网)",
    ),
    _rule(
        False,
        "greeting",
        0.95,
        r"\W*+(?:hi+|hello+|hey+|yo|howdy|greetings|good\s+(?:morning|afternoon|evening|night|"
        r"day)|"
        r"how\s+are\s+you(?:\s+(?:today|doing))*|how'?s\s+it\s+going|what'?s\s+up|"
        r"nice\s+to\s+meet\s+you|"
        r"thanks?(?:\s+(?:you|a\s+lot|so\s+much|very\s+much))*|thank\s+you(?:\s+(?:so|"
        r"very)\s+much)?|thx|"
        r"bye|goodbye|see\s+you|ok(?:ay)?|yes|no|sure|great|cool|got\s+it|sorry)"
        r"(?:\W++(?:got\s+it|thanks?|thank\s+you|bye|there|all|everyone|again|then|friend|claude|"
        r"how\s+are\s+you(?:\s+today)?))*+\W*+",
        r"\W*+(?:你好|您好|嗨|哈喽|早上好|早安|上午好|中午好|下午好|晚上好|晚安|在吗|谢谢你?|"
        r"多谢|非常感谢|再见|拜拜|"
        r"好的|嗯+|是的|不是|辛苦了|最近怎么样|你好吗|今天过得怎么样)(?:[啊呀呢吗了]|\W)*+",
        whole=True,
    ),
    _rule(
        True,
        "explicit request",
        0.95,
        _POLITE
        + r"(?:(?:do\s+a\s+|run\s+a\s+)?(?:web|internet|online)\s+search\b|search\s+(?:for|the\s+"
        r"(?:web|internet|net)|online|google)\b|google\s+(?!search|maps|docs|cloud|"
        r"translate)\S|look\s+(?:it\s+|"
        r"this\s+|that\s+)?up\b|browse\s+(?:the|for)\b|find\s+(?:me\s+)?(?:sources|links|"
        r"articles|papers|websites)\b)",
        r"\b(?:search|look\s+it\s+up|check|find(?:\s+out)?)\s+(?:on\s+)?(?:the\s+(?:web|"
        r"internet)|online)\b",
        r"\bwith\s+(?:sources|citations|links)\b|\bcite\s+(?:your\s+)?sources\b",
        _POLITE_HAN
        + r"(?:上网|联网|在网上|去网上)?(?:搜索(?!引擎|算法|树|框)|搜一?搜|搜一?下|查一?查|"
        r"查一?下|查询|查找|检索)",
        r"(?:上网|联网|网上)(?:搜|查|找|检索)|百度一下|谷歌一下|附上?来源|给出(?:来源|出处)",
    ),
    _rule(
        False,
        "translation",
        0.9,
        _POLITE + r"(?:translate\b|how\s+(?:do|would)\s+(?:you|i|"
        r"we)\s+say\b)(?!.{0,200}https?://)",
        r"\bhow\s+(?:do|would)\s+(?:you|i|we)\s+say\b.{1,80}\bin\s+[A-Z]",
        r"\b(?:translate|translation\s+of)\b.{0,200}\b(?:in)?to\s+(?:english|chinese|german|"
        r"french|spanish|italian|"
        r"japanese|korean|russian|portuguese|arabic|hindi|dutch)\b",
        _POLITE_HAN + r"(?:把|将|以下|下面|这|翻译|译成|译为).{0,200}?(?:翻译|译成|译为|翻成)",
        _POLITE_HAN + r"翻译(?!软件|公司|app|工具)",
        r"(?:用|的)(?:英语|英文|日语|法语|德语|韩语|中文)怎么说",
    ),
    _rule(True, "url", 0.9, r"https?://[^\s/]+\.[^\s/]+", r"\bwww\.[\w-]+\.\w{2,}"),
    _rule(
        False,
        "code",
        0.85,
        r"```",
        _POLITE
        + r"(?:write|create|implement|generate|code|give\s+me|show\s+me|make|build|refactor|"
        r"debug|fix|explain|"
        r"review|optimi[sz]e|convert)\s+(?:an?\s+|the\s+|this\s+|my\s+|some\s+|"
        r"me\s+an?\s+)?(?:[\w+#.-]+\s+){0,4}?(?:function|"
        r"script|program|code|class|method|regex|regular\s+expression|query|unit\s+tests?|"
        r"algorithm|snippet|component|"
        r"dockerfile|makefile|for[\s-]loop|sql|bug)\b",
        r"\b(?:write|implement)\b.{0,60}\bin\s+(?:python|java(?:script)?|typescript|rust|go|"
        r"golang|c\+\+|c#|c|ruby|kotlin|"
        r"swift|php|bash|sql|haskell)\b",
        r"Traceback \(most recent call last\)|\bdef \w+\(|\bfunction \w*\(|#include\s*<|"
        r"\bSELECT\b.{1,200}\bFROM\b",
        _POLITE_HAN
        + r"(?:写|实现|生成|编写|优化|重构|调试|修复|解释)[^。？]{0,20}?(?:函数|代码|脚本|"
        r"程序|正则|算法|类|SQL|测试用例|"
        r"接口|组件|bug)",
        r"(?:这段|下面的|以下)代码",
    ),
    _rule(
        False,
        "rewriting",
        0.9,
        _POLITE + r"(?:rewrite|rephrase|reword|paraphrase|proofread|polish|shorten|edit|correct|"
        r"improve|fix)\s+"
        r"(?:the\s+(?:grammar|spelling|style|wording|following|tone)|this|these|my|it\b|"
        r"the\s+(?:text|sentence|"
        r"paragraph|email|essay)|[\"'“:])",
        _POLITE + r"(?:summari[sz]e|tl;?dr|condense|give\s+(?:me\s+)?a\s+summary\s+of)\s+(?:this|"
        r"these|the\s+(?:following|"
        r"text|above|conversation|passage)|my\b|it\b|our\b|[\"'“:])",
        _POLITE_HAN
        + r"(?:(?:把|将|对)?(?:这|以下|下面|上面|上述|我的).{0,60}?)?(?:润色|改写|重写|缩写|"
        r"扩写|校对|纠正语法)",
        _POLITE_HAN + r"(?:总结|概括|归纳|摘要)(?:一下)?(?:这|以下|下面|上面|上述|我的|本文|"
        r"：|:)",
        _POLITE_HAN
        + r"(?:把|将)(?:这|以下|下面|上面|上述|我的).{0,60}?(?:总结|概括|归纳|改成|改为)",
    ),
    _rule(
        False,
        "creative",
        0.9,
        _POLITE + r"(?:write|compose|create|make\s+up|tell|give|draft|invent|"
        r"come\s+up\s+with)\s+(?:me\s+|us\s+)?"
        r"(?:an?\s+|some\s+|the\s+)?(?:\w+\s+){0,3}?(?:poem|haiku|limerick|sonnet|story|joke|"
        r"song|lyrics|riddle|slogan|"
        r"tagline|cover\s+letter|e-?mail|toast|speech|birthday\s+message|bedtime\s+story)s?\b",
        _POLITE_HAN + r"(?:写|编|讲|作|创作|来|说)[一个首篇段封几]*+[^，。？]{0,12}?(?:诗|词牌|"
        r"故事|笑话|歌词|小说|作文|情书|"
        r"邮件|演讲稿|文案|谜语|祝福语)",
    ),
    _rule(
        True,
        "price",
        0.85,
        rf"\d\s*{_MONEY}\s+(?:in(?:to)?|to)\s+{_MONEY}\b",
        rf"{_MONEY}.{{0,10}}(?:是多少|等于多少|兑|换).{{0,10}}",
    ),
    _rule(
        False,
        "arithmetic",
        0.95,
        r"\W*+(?:please\s++)?(?:(?:what(?:'s|\s+is|\s+are)|calculate|compute|solve|evaluate|"
        r"how\s+much\s+is|计算一?下?|算一?下|请问|请)\s*+:?+\s*+)?"
        # A number with an operator behind it, maybe after equations, and more of the like.
        rf"(?:[{_SIGNS}]*+\d[{_FIGURES}]*+=)*+[{_SIGNS}]*+\d[{_FIGURES}]*+"
        r"(?:[+\-*/×÷^%x]|\*\*|plus|minus|times|multiplied\s+by|divided\s+by|over|mod|"
        r"to\s+the\s+power\s+of|squared|cubed|乘以?|除以|加上?|减去?|的)"
        rf"[\d{_SIGNS}]*+(?:的?平方|次方)?\s*+(?:等于|是)?\s*+(?:多少|几)?\W*+",
        whole=True,
    ),
    _rule(
        False,
        "arithmetic",
        0.9,
        r"^\W*+(?:what(?:'s|\s+is)\s++|calculate\s++|compute\s+)?(?:the\s+)?(?:square|"
        r"cube)\s+root\s+of\s+\d",
        r"^\W*+(?:what(?:'s|\s+is)\s++|calculate\s++|compute\s+)?\d[\d.,]*+\s*+(?:%|"
        r"percent)\s+of\s+[\d.,]++\W*+$",
        r"^\W*+(?:convert\s++|how\s+many\s+\w+\s+(?:are\s+)?in\s++)[\d.,]*+\s*+(?:km|kilomet(?:er|"
        r"re)s?|miles?|met(?:er|re)s?|"
        r"feet|foot|inch(?:es)?|cm|mm|kg|kilograms?|lbs?|pounds?|grams?|ounces?|celsius|"
        r"fahrenheit|lit(?:er|re)s?|gallons?|"
        r"hours?|minutes?|seconds?|days?|an?\s+(?:mile|hour|day|kilomet(?:er|re)))\b",
        r"^\W*+[零一二三四五六七八九十百千万\d]+(?:加|减|乘以?|"
        r"除以)[零一二三四五六七八九十百千万\d]+(?:等于|是)(?:多少|几)",
        r"^\W*+\d+的(?:平方根?|立方根?|\d+次方)(?:等于|是)?(?:多少|几)?\W*$",
    ),
    _rule(
        False,
        "about the assistant",
        0.9,
        r"^\W*(?:who|what)\s+are\s+you\W*$|^\W*what(?:'s|\s+is)\s+your\s+name\W*$|"
        r"^\W*what\s+can\s+you\s+do\b|"
        r"^\W*(?:who|which\s+company)\s+(?:made|created|trained|built)\s+you\b|"
        r"^\W*are\s+you\s+(?:an?\s+)?(?:ai|human|robot|bot)\b",
        r"^\W*(?:你是谁|你叫什么|你是什么|你能做什么|你会什么|介绍一下你自己|谁(?:开发|创造|"
        r"训练)了?你)",
    ),
    _rule(
        True,
        "weather",
        0.95,
        r"\bweather\b(?!\s+(?:the|a)\s+storm)|\b(?:rain|snow)(?:ing)?\s+(?:today|tomorrow|"
        r"tonight|this|on|right\s+now)\b|"
        r"\btemperature\s+(?:in|outside|today|tomorrow)\b|\bforecast\b|\bair\s+quality\b|"
        r"\bpollen\s+count\b",
        r"天气|气温|降雨|下雨吗|会下雨|下雪吗|空气质量|台风|雾霾",
    ),
    _rule(
        True,
        "news",
        0.95,
        r"\bnews\b(?!paper|letter)|\bheadlines?\b|\bbreaking\b(?=\s+(?:news|story))|"
        r"\bwhat(?:'s|\s+is|\s+has)\s+(?:been\s+)?"
        r"happen(?:ing|ed)\b|\belection\s+results?\b|\bpolls\s+(?:say|show)\b",
        r"新闻|新聞|头条|热搜|热点|发生了什么|最新消息|最新进展",
    ),
    _rule(
        True,
        "version",
        0.85,
        r"\b(?:latest|newest|current|stable|next)\s+(?:\w+\s+){0,3}?(?:version|release|lts|"
        r"update|model|firmware)\b|"
        r"\bwhich\s+version\b|\brelease\s+(?:date|notes)\b|\bchangelog\b|\bwhat(?:'s|"
        r"\s+is)\s+new\s+in\b|\b(?:has|have|is|was|"
        r"when\s+(?:was|is|will|did|does))\b.{1,60}\b(?:released?|come\s+out|launch(?:ed)?|"
        r"available|out\s+yet|announced)\b",
        r"最新版|新版本|哪个版本|版本号|什么时候(?:发布|上市|上映|推出|更新)|发布了吗|"
        r"发布时间|上市时间|更新日志|更新了什么|有什么新(?:特性|功能)",
    ),
    _rule(
        True,
        "price",
        0.9,
        r"\b(?:prices?|pricing|costs?\s+of|how\s+much\s+(?:is|are|does|do|for)\b|stock|"
        r"shares?\s+price|exchange\s+rate|"
        r"interest\s+rates?|mortgage\s+rates?|market\s+cap|cheapest|salary|discounts?|"
        r"coupons?|for\s+sale)\b(?<!costs\s)",
        r"价格|价钱|多少钱|股价|售价|房价|油价|金价|汇率|利率|市值|报价|便宜|优惠|打折|工资|"
        r"薪资|行情",
    ),
    _rule(
        True,
        "live",
        0.85,
        r"\b(?:live\s+)?scores?\s+(?:of|in|for|today)\b|\bwho(?:'s|\s+is)\s+(?:winning|"
        r"playing|leading)\b|\bwho\s+won\b|\bstandings\b|"
        r"\bfixtures?\b|\bschedules?\b|\btimetables?\b|\bopening\s+hours\b|\bopen\s+(?:now|"
        r"today|on\s+\w+day)\b|\bnear\s+(?:me|by)\b|"
        r"\bnearby\b|\bin\s+stock\b|\btickets?\b|\bflights?\s+(?:from|to|status)\b|"
        r"\bhotels?\s+in\b|\brestaurants?\s+(?:in|near)\b|"
        r"\btraffic\s+(?:in|on|to)\b|\bphone\s+number\s+of\b|\baddress\s+of\b",
        r"比分|赛程|积分榜|谁赢了|冠军是谁|营业时间|几点(?:开门|关门|开始)|开放时间|附近|有货|"
        r"门票|车票|机票|航班|余票|酒店|路况|电话是多少|地址在哪",
    ),
    _rule(
        True,
        "office",
        0.85,
        r"\bwho(?:'s|\s+is)\s+(?:the\s+)?(?:current\s+|new\s+|"
        r"acting\s+)?(?:[\w.']+\s+){0,2}?(?:president|ceo|cto|cfo|prime\s+minister|"
        r"chancellor|chair(?:man|woman|person)?|pope|king|queen|mayor|governor|secretary|"
        r"minister|head\s+coach|coach|captain|"
        r"owner|director|speaker)\b(?!\s+during|\s+in\s+1|\s+when)",
        r"(?:现任|新任|现在的|谁是.{0,12}?(?:总统|总理|首相|主席|CEO|市长|校长))|(?:总统|总理|"
        r"首相|CEO|董事长|市长|国务卿|主教练)(?:现在)?是谁",
    ),
    _rule(
        True,
        "recency",
        0.9,
        r"\b(?:latest|newest|most\s+recent|up[\s-]to[\s-]date|recent(?:ly)?|currently|"
        r"nowadays|these\s+days|right\s+now|at\s+the\s+moment|"
        r"so\s+far\s+this|as\s+of|today(?:'s)?|tonight|tomorrow|yesterday|just\s+(?:released|"
        r"announced|launched)|upcoming|still\s+"
        r"(?:alive|open|available|supported|maintained|valid))\b",
        r"\b(?:this|last|next)\s+(?:week|weekend|month|year|quarter|season|monday|tuesday|"
        r"wednesday|thursday|friday|saturday|sunday)\b",
        r"\bcurrent\s+(?!in\b|through\b|flow|density|source|limit|mirror|"
        r"transformer)(?:\w+\s+){0,2}?(?:state|status|situation|population|"
        r"record|law|laws|rules?|policy|rate|champion|leader|affairs|government|holder|market|"
        r"ranking|trends?|events?)\b",
        r"最新|最近|近期|今天|今日|今晚|明天|昨天|后天|目前|当前|现在还|刚刚|实时|本周|这周|"
        r"下周|上周|本月|下个?月|上个?月|今年|明年|去年|近日|截至|当下",
    ),
    _rule(
        True,
        "recommendation",
        0.65,
        r"\b(?:best|top\s+\d+|top[\s-]rated|recommend(?:ations?|ed)?|reviews?\s+(?:of|for)|"
        r"alternatives\s+to)\b",
        r"推荐|哪个好|哪款|排行榜|排名|评测|测评|口碑|攻略|哪家|性价比",
    ),
)
"""In order: the first that fits decides."""
