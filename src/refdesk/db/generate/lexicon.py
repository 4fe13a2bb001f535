"""
The words that questions are made of, whatever the database is about.

Phrases are written with spaces between words; Chinese ones stand by themselves.  A word is here
in its plain form, since both the schema's words and the question's are made plain first
(`refdesk.db.generate.tokens`).
"""

# Chinese characters count double for the line length.
# ruff: noqa: E501

from __future__ import annotations

from typing import Final, Literal

Concept = Literal[
    "count", "sum", "avg", "max", "min", "most", "least", "dearest", "cheapest", "newest", "oldest",
    "top", "group", "by", "order", "desc", "asc", "not", "or", "and", "distinct", "contains",
    "starts", "ends", "empty", "filled", "more", "with", "of", "named", "daily", "weekly",
    "monthly", "quarterly", "yearly", "dayofweek", "weekend", "workday", "dow", "between", "above", "below", "units", "hourly", "commonest", "rarest", "then", "ratio",
    "share", "span", "beyond", "stop",
]  # fmt: skip

CONCEPTS: Final[dict[Concept, str]] = {
    "count": (
        "how many | number of | the number of | total number of | count of | count | total count of"
        " | amount of times | 多少个 | 多少位 | 多少名 | 多少本 | 多少次 | 多少条 | 多少张 | 多少件 | 多少家 | 多少笔 | 多少辆 | 多少种 | 多少款 | 多少台"
        " | 多少 | 几个 | 几本 | 几次 | 几位 | 几名 | 几家 | 几条 | 次数 | 本数 | 个数 | 数 | 数量 | 数目 | 总数 | 人数"
    ),
    "sum": "sum of | sum | total | combined | 总额 | 总量 | 总和 | 合计 | 总计 | 总共 | 一共 | 共 | 总",
    "avg": "average | mean | avg | average of | on average | 平均 | 平均值",
    "max": "maximum | max | 最大值 | 最高值",
    "min": "minimum | min | 最小值 | 最低值",
    "most": (
        "most | highest | largest | biggest | greatest | best | longest | tallest | heaviest"
        " | 最高 | 最大 | 最多 | 最好 | 最长"
    ),
    "least": (
        "least | lowest | smallest | fewest | worst | shortest | lightest | 最低 | 最小 | 最少"
        " | 最差 | 最短"
    ),
    "dearest": "most expensive | priciest | costliest | dearest | most costly | 最贵",
    "cheapest": "cheapest | least expensive | most affordable | 最便宜",
    "newest": "newest | latest | most recent | most recently | recent | 最新 | 最近 | 最晚",
    "oldest": "oldest | earliest | least recent | 最早 | 最旧",
    "top": "top | first | 前",
    "group": (
        "per | for each | within each | serving each | for every single | in each | of each | by each | each | every | for every | grouped by"
        " | group by | broken down by | across | 每个 | 每 | 各个 | 各 | 每种 | 每位 | 每名 | 每家"
    ),
    "by": "by | in terms of | split by | 按 | 按照",
    "order": (
        "sorted by | sort by | sort | ordered by | order by | ranked by | rank by | in order of"
        " | arranged by | sort the result by | order the result by | sorted | ordered | 排序 | 排列"
    ),
    "desc": (
        "descending | descending order | desc | in descending order | highest first"
        " | largest first | newest first | most recent first | latest first"
        " | from highest to lowest | from high to low | high to low | 降序 | 从高到低 | 从大到小"
        " | 倒序"
    ),
    "asc": (
        "ascending | ascending order | asc | in ascending order | lowest first | smallest first"
        " | oldest first | alphabetically | in alphabetical order | alphabetical order"
        " | from lowest to highest | from low to high | low to high | 升序 | 从低到高 | 从小到大"
    ),
    "not": (
        "not | no | without | isn't | aren't | wasn't | weren't | don't | doesn't | hasn't"
        " | haven't | never | non | except | except for | excluding | other than | not from"
        " | out of | do not have | does not have | don't have | doesn't have | have no | has no | with no"
        " | 不是 | 不 | 没有 | 没 | 非 | 未 | 除了 | 不在 | 不属于"
    ),
    "or": "or | 或 | 或者 | 或是",
    "and": "and | 和 | 与 | 以及 | 并且 | 且 | 及 | 及其",
    "distinct": "different | distinct | unique | 不同 | 不同的 | 不重复",
    "contains": (
        "contains | contain | containing | includes | include | including | like | with the word"
        " | mention | mentions | mentioning | 包含 | 含有 | 包括"
    ),
    "starts": "starts with | start with | starting with | begins with | begin with | 开头",
    "ends": "ends with | end with | ending with | ending in | ends in | 结尾",
    "empty": "missing | empty | null | blank | 为空 | 空 | 缺失",
    "filled": "not null | not empty | not missing | 不为空",
    "more": "at least | at most",
    "with": "with | whose | having | has | have | had | where | which have | that have | that has",
    "of": "of | in | from | for | at | on | 的 | 在 | 是 | 为 | 于 | 来自 | to | 属于 | 等于",
    "named": "named | called | titled | name is | 叫 | 名叫 | 名为 | 叫做",
    "daily": "daily | each day | per day | by day | every day | 每天 | 每日 | 按天 | 按日",
    "weekly": "weekly | each week | per week | by week | every week | 每周 | 按周",
    "monthly": "monthly | in each month | for each month | each month | per month | by month | every month | 每月 | 每个月 | 按月",
    "quarterly": (
        "quarterly | in each quarter | for each quarter | each quarter | per quarter | by quarter | every quarter | 每季度 | 每个季度"
        " | 按季度"
    ),
    "yearly": (
        "yearly | annually | annual | in each year | for each year | each year | per year | by year | every year | 每年 | 按年"
    ),
    "weekend": "weekend | 周末",
    "workday": "weekday | workday | work day | business day | 工作日",
    "dow": "monday | tuesday | wednesday | thursday | friday | saturday | sunday",
    "between": "between",
    "above": (
        "after | later than | greater than | higher than | more than | larger than | bigger than"
        " | longer than | exceed | exceeds | exceeded | above | over | 晚于 | 大于 | 高于 | 超过 | 多于"
    ),
    "below": (
        "before | earlier than | less than | lower than | fewer than | smaller than | below | under"
        " | shorter than | 早于 | 小于 | 低于 | 少于"
    ),
    "units": (
        "in second | in minute | in hour | in day | in week | in month | in year"
        " | number of second | number of minute | number of hour | number of day | number of week"
        " | number of month | number of year | how many second | how many minute | how many hour"
        " | how many day | how many week | how many month | how many year | the number of day"
        " | day between | week between | month between | year between | hour between"
        " | minute between | second between | 多少天 | 天数 | 多少小时 | 几天"
    ),
    "dayofweek": (
        "in each day of the week | on each day of the week | day of the week | day of week"
        " | each day of the week | each day of week | per day of the week | per weekday | by weekday"
        " | by day of the week | by day of week | each weekday | for each day of the week"
        " | 每个星期几 | 按星期几"
    ),
    "hourly": "each hour | per hour | by hour | hourly | by hour of the day | 每小时 | 按小时",
    "commonest": (
        "most common | most frequent | most frequently | most commonly | most often | 最常见 | 最常用"
    ),
    "rarest": "least common | least frequent | rarest",
    "then": "then by | and then by | followed by",
    "ratio": "ratio of | ratio | ratio between | the ratio of | 之比 | 比率 | 比值",
    "share": (
        "percentage of | percentage | percent of | proportion of | proportion | share of | share"
        " | fraction of | fraction | 占比 | 比例 | 百分比"
    ),
    "span": "duration | length of time | how long | time difference | 时长",
    "beyond": (
        "growth | trend | median | variance"
        " | standard deviation | deviation | correlation | correlated | difference | compare"
        " | compared | comparison | cumulative | running | popular | common | consecutive | both | only | exclusively | 只 | 仅"
        " | same | similar | increase | decrease"
        " | increased | decreased | rank | percentile | forecast | predict | retention | churn"
        " | 多少钱 | 中位数 | 增长 | 同比 | 环比 | 趋势 | 差异 | 比较 | 对比 | 受欢迎 | 预测 | 相同"
    ),
    "stop": (
        "a | an | the | all | any | some | list | show | give | get | find | display | tell"
        " | return | fetch | retrieve | see | view | me | us | please | what | which | who | whom"
        " | where | when | is | are | was | were | be | been | being | do | does | did | can"
        " | could | would | will | should | i | we | you | our | my | your | their | its | it"
        " | they | them | there | these | those | this | that | want | need | like to | let | s"
        " | sell | offer | also | just | record | row | entry | entries | result | data"
        " | database | table | value | than | as | then | type of | respective"
        " | respectively | corresponding | made | placed | happened | took place | occurred"
        " | located | belong | based | each of | there's | serve | serves | offers | wrote"
        " | write | written | author of | posted | make | makes | took | take | takes | taken"
        " | earn | earned | produced | work | works | belong to | belongs to | related to"
        " | associated with | calculate | compute | determine | identify | provide a list of"
        " | list of | part of | according to | based on | as well as | as well | each one"
        " | overall | answer | integer | decimal | along with | please list | output | report"
        " | involving | live in | reside in | in the month of | in the month | the month of"
        " | in the year of | the year of | teach | teaches | used | visited | showing | shown"
        " | displaying | in meter | square kilometer | people per square kilometer"
        " | in people per square kilometer | inclusive | 请 | 给我 | 显示 | 列出 | 查询 | 查找 | 查看 | 找出"
        " | 找到 | 有 | 哪些 | 哪个 | 哪 | 什么 | 谁 | 分别 | 他们 | 她们 | 它们 | 所有 | 全部 | 了 | 吗 | 呢 | 我 | 我们 | 你 | 个 | 位 | 名 | 件 | 条 | 家"
        " | 种 | 是什么 | 中 | 里 | 请问 | 一下 | 写 | 统计 | 哪位 | 哪本 | 还 | 已经 | 已 | 过 | 情况 | 信息 | 列表 | 本 | 次"
        " | 人 | 那些 | 这些 | 该 | 其 | 都 | 被 | 款 | 台 | 地 | 得 | 把 | 对 | 以 | 由 | 从 | 到 | 也 | 就"
    ),
}

CHANGES: Final = (
    # An order: the verb begins a sentence or a clause.
    r"(?:^|[.;,:!?]\s*+|\n[^\S\n]*+|\b(?:to|please|and|then|now|also|must|should|you|just|i)\s+)"
    r"(?:insert|delete|drop|truncate|alter|update|overwrite|erase|wipe|purge|grant|revoke|rename"
    r"|modify|remove|add|create|set|change|increase|decrease|raise|reset|cancel|assign|replace"
    r"|clear|send)\b(?!\s*(?:date|time)s?\b)"
    # SQL, wherever it stands.
    r"|\b(?:(?:drop|truncate|alter|create)\s+(?:table|database|view|user)|insert\s+into"
    r"|delete\s+from|update\s+\w+\s+set)\b"
    r"|删除(?!的|于|时|日)|删掉|清空|改为|改成|设为|设置为|丢弃"
    r"|^\s*(?:请|帮我|麻烦|给我|你)*(?:插入|添加|新增一|增加|更新|修改|设置|创建|新建|替换|写入|授权|撤销|把|将)"
)
"""What asks for a change."""

SYNONYMS: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(words.split())
    for words in (
        "price cost priced",
        "total amount revenue spending spent",
        "rating rated star score stars",
        "stock inventory",
        "quantity qty unit",
        "salary pay wage income",
        "customer client buyer user",
        "product item article",
        "order purchase",
        "sale purchase",
        "employee staff worker",
        "category kind type",
        "city town",
        "country nation",
        "email mail e-mail",
        "phone telephone",
        "status state",
        "name title",
        "birthday birthdate born",
        "department division",
        "supplier vendor",
        "comment note remark",
    )
)

ABBREVIATIONS: Final = {
    "cust": "customer",
    "qty": "quantity",
    "tot": "total",
    "reg": "registration",
    "med": "medication",
    "bal": "balance",
    "amt": "amount",
    "num": "number",
    "addr": "address",
    "desc": "description",
    "cat": "category",
    "dept": "department",
    "emp": "employee",
    "prod": "product",
    "yr": "year",
    "dt": "date",
    "tx": "transaction",
    "txn": "transaction",
    "ts": "timestamp",
    "pct": "percent",
    "avg": "average",
    "dob": "birthday",
    "lang": "language",
    "org": "organization",
    "acct": "account",
    "mgr": "manager",
    "loc": "location",
    "no": "number",
    "cnt": "count",
    "msg": "message",
    "img": "image",
    "min": "minimum",
    "max": "maximum",
    "exch": "exchange",
    "lat": "latitude",
    "lng": "longitude",
    "diag": "diagnosis",
    "doc": "doctor",
    "ins": "insurance",
    "pub": "publication",
    "trans": "transaction",
}

TRANSLATIONS: Final[dict[str, str]] = {
    "客户": "customer", "顾客": "customer", "用户": "user", "产品": "product", "商品": "product",
    "订单": "order", "员工": "employee", "部门": "department", "公司": "company", "供应商": "supplier",
    "学生": "student", "老师": "teacher", "课程": "course", "作者": "author", "论文": "paper",
    "书": "book", "图书": "book", "书本": "book", "会员": "member", "借阅": "loan", "医生": "doctor", "病人": "patient", "患者": "patient", "餐厅": "restaurant", "航班": "flight", "交易": "transaction", "价格": "price",
    "单价": "price", "售价": "price", "金额": "amount", "总价": "total", "成本": "cost",
    "库存": "stock", "类别": "category", "分类": "category", "种类": "category", "品牌": "brand",
    "名称": "name", "名字": "name", "姓名": "name", "标题": "title", "描述": "description",
    "国家": "country", "城市": "city", "地址": "address", "邮箱": "email", "邮件": "email",
    "电话": "phone", "状态": "status", "评分": "rating", "评级": "rating", "信用": "credit",
    "额度": "limit", "信用额度": "credit limit", "数量": "quantity", "件数": "quantity",
    "日期": "date", "时间": "time", "年龄": "age", "性别": "gender", "工资": "salary",
    "薪水": "salary", "付款": "payment", "支付": "payment", "付款方式": "payment method", "支付方式": "payment method", "备注": "note",
    "折扣": "discount", "重量": "weight", "人口": "population", "面积": "area", "年份": "year",
    "注册": "signed up", "下单": "ordered", "发布": "released", "创建": "created", "语言": "language",
    "已停产": "discontinued", "停产": "discontinued", "活跃": "active", "发票": "invoice",
    "评论": "review", "门店": "store", "商店": "store", "项目": "project", "职位": "position",
    "利润": "profit", "收入": "revenue", "销售额": "total", "销售": "sale", "入职": "hired",
}  # fmt: skip
"""Chinese names of things and their qualities."""

VALUE_TRANSLATIONS: Final[dict[str, str]] = {
    "待处理": "pending", "已支付": "paid", "已付款": "paid", "已发货": "shipped", "已取消": "cancelled",
    "取消": "cancelled", "已完成": "completed", "完成": "completed", "进行中": "active",
    "失败": "failed", "成功": "success", "已退款": "refunded", "已送达": "delivered",
    "男": "male", "女": "female", "中国": "China", "德国": "Germany", "法国": "France",
    "美国": "United States", "英国": "United Kingdom", "日本": "Japan", "上海": "Shanghai",
    "北京": "Beijing", "柏林": "Berlin", "巴黎": "Paris", "伦敦": "London", "纽约": "New York",
    "电子产品": "electronics", "图书": "books", "书籍": "books", "玩具": "toys", "服装": "clothing",
    "家具": "furniture", "信用卡": "card",
}  # fmt: skip
"""Chinese for values that databases often hold in English."""

STATES: Final[dict[str, str]] = {
    "AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California",
    "CO": "Colorado", "CT": "Connecticut", "DE": "Delaware", "FL": "Florida", "GA": "Georgia",
    "HI": "Hawaii", "ID": "Idaho", "IL": "Illinois", "IN": "Indiana", "IA": "Iowa",
    "KS": "Kansas", "KY": "Kentucky", "LA": "Louisiana", "ME": "Maine", "MD": "Maryland",
    "MA": "Massachusetts", "MI": "Michigan", "MN": "Minnesota", "MS": "Mississippi",
    "MO": "Missouri", "MT": "Montana", "NE": "Nebraska", "NV": "Nevada", "NH": "New Hampshire",
    "NJ": "New Jersey", "NM": "New Mexico", "NY": "New York", "NC": "North Carolina",
    "ND": "North Dakota", "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania",
    "RI": "Rhode Island", "SC": "South Carolina", "SD": "South Dakota", "TN": "Tennessee",
    "TX": "Texas", "UT": "Utah", "VT": "Vermont", "VA": "Virginia", "WA": "Washington",
    "WV": "West Virginia", "WI": "Wisconsin", "WY": "Wyoming",
}  # fmt: skip
"""What the letters in columns of states stand for."""

COUNTRIES: Final[tuple[frozenset[str], ...]] = (
    frozenset({"USA", "US", "United States", "United States of America", "America"}),
    frozenset({"UK", "GB", "United Kingdom", "Great Britain", "Britain"}),
    frozenset({"UAE", "AE", "United Arab Emirates"}),
    frozenset({"DE", "Germany"}),
    frozenset({"FR", "France"}),
    frozenset({"CN", "China"}),
    frozenset({"JP", "Japan"}),
)
"""Names and codes of one country."""
