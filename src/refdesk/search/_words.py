"""
Words that say little about what a text is about, in English and Chinese.

The Chinese lists also tell where a run of characters without spaces may be cut, so they hold only
words that are seldom part of another; the exceptions stand in `HAN_WHOLE`.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP: Final = _words("""
    a about above after again against all also am an and any anybody anyone anything are aren't as
    at be because been before being below between both but by can can't cannot could couldn't did
    didn't do does doesn't doing don't done down during each either else etc every everyone
    everything few for from further get gets got had hadn't has hasn't have haven't having he he'd
    he'll he's her here hers herself hey hi him himself his how how's however i i'd i'll i'm i've
    if in into is isn't it it'd it'll it's its itself just kindly let let's like many may maybe me
    might mine more most much must my myself need neither no nor not now of off oh ok okay on once
    one ones only onto or other others ought our ours ourselves out over own perhaps please quite
    rather really same shall she she'd she'll she's should shouldn't so some somebody someone
    something such than thank thanks that that'd that's the their theirs them themselves then
    there there's these they they'd they'll they're they've thing things this those though through
    thus till to too toward towards under until up upon us very via vs want wants was wasn't we
    we'd we'll we're we've well were weren't what what's whatever when when's where where's
    whether which while who who's whoever whom whose why why's will with within without won't
    would wouldn't yes yet you you'd you'll you're you've your yours yourself yourselves
""")
"""English function words, in lower case with a straight apostrophe."""

WEAK: Final = _words("""
    ask check compare define describe explain find give help know list look mean means question say
    search see show tell think understand use used using way work works write
    """)
"""English words that are usually addressed to whoever answers; they count, but little."""

HAN_STOP: Final = _words("""
    的 了 是 吗 呢 吧 啊 呀 嘛 么 哦 谁 哪 你 我 您 她 它 这 请 嗎 麼 這 誰 們 们
    我们 你们 他们 她们 它们 我們 你們 他們 自己 咱们 大家
    一个 一些 一下 一种 一個 一種 一样 这个 那个 这些 那些 这里 那里 这样 那样 这么 那么
    這個 那個 這些 這裡 這樣 那麼 其中 之间 之一 之后 之前 以后 以前 的话
    什么 什麼 是什么 是什麼 什么是 有什么 为什么 為什麼 怎么 怎麼 怎么样 怎麼樣 怎样 怎樣 如何
    怎么办 哪些 哪里 哪裡 哪个 哪個 哪位 哪儿 哪家 哪年 哪一年 有哪些 是哪 是谁 谁是 是誰 几个
    多少 有多少 是多少 什么时候 什麼時候 何时 何時 是否 能否 有没有 有沒有 能不能 可不可以 会不会
    可以 可能 应该 應該 需要 能够 能夠 正在 已经 已經 没有 沒有 就是 不是 还是 還是 还有 還有
    也是 都是 只是 但是 可是 因为 因為 所以 如果 虽然 雖然 或者 并且 並且 而且 以及 然后 然後
    关于 關於 对于 對於 根据 通过 由于 为了 為了 等等 非常 比较 十分 一直 一定 其他 其它 另外
    现在 現在 请问 請問 请你 麻烦 帮我 幫我 告诉我 告訴我 想知道 我想 我要 给我 給我 介绍一下
    解释一下 说说 说明 谢谢 謝謝 你好
    """)
"""Chinese function and question words; a run is cut at them."""

HAN_CUT: Final = _words("和 与 與 及 或 在 把 被 让 跟 从 於 对 有 也 很 就 都 不")
"""Words of one character at which a run is cut where both sides are long enough to be words."""

HAN_WEAK: Final = _words("""
    查询 查找 搜索 搜寻 查一下 搜一下 查查 找找 介绍 解释 分析 问题
""")
"""Chinese words addressed to whoever answers."""

HAN_COMMON: Final = _words("""
    天气 天氣 气温 温度 新闻 新聞 消息 最新 最近 今天 今日 明天 昨天 后天 今年 去年 明年 本周 本月
    价格 價格 售价 股价 股價 股票 房价 汇率 工资 成本 费用 多少钱 收入 利润 营收 市值 排名 排行榜
    人口 首都 面积 历史 歷史 文化 经济 經濟 政策 法律 法规 时间 時間 日期 地址 电话 官网 总统 總統
    总理 主席 市长 部长 得主 获奖 冠军 比赛 比分 赛程 结果 結果 决赛 电影 電影 电视剧 音乐 歌曲 小说
    手机 手機 电脑 電腦 汽车 汽車 飞机 火车 高铁 航班 酒店 餐厅 门票 公司 大学 大學 医院 銀行 银行
    版本 发布 發佈 更新 下载 安装 配置 教程 方法 步骤 原因 原理 区别 區別 对比 比较 优点 缺点 影响
    作用 功能 特性 性能 推荐 推薦 评测 评价 使用 开发 開發 设计 学习 學習 研究 报告 数据 分析 预测
    技术 技術 系统 软件 硬件 网络 数据库 模型 算法 编程 代码 语言 框架 工具 平台 服务 服务器
    人工智能 机器学习 深度学习 大模型 新能源 电动车 芯片 半导体
    快速 发展 备份 脚本 上传 失败 处理 错误 解决
    症状 治疗 药物 疫苗 病毒 健康 中国 美国 日本 韩国 英国 法国 德国 俄罗斯 印度 北京 上海 广州 深圳
    香港 台湾 台北 世界 全球 国际 城市 国家 旅游 攻略 景点 美食
    """)
"""Frequent Chinese words: a run without spaces is parted at them, and they are kept."""

HAN_WHOLE: Final = _words("""
    目的 的士 的确 标的 了解 为了 除了 是非 于是 国是 埃及 普及 及格 以及 及时 和平 和谐 共和国
    共和党 温和 总和 饱和 缓和 和解 参与 与会 赠与 存在 在线 内在 潜在 实在 所在 外在 在职 有限 所有
    拥有 有机 国有 有效 私有 有色 有声 有关 也门 首都 成都 都市 就业 成就 就是 不丹 不同 不动产
    不锈钢 对比 对象 对外 面对 针对 绝对 从事 从业 服从
    被告 被子 让步 跟踪 把握 自我 我国 请求 申请 邀请
    这个 谁是 呢绒 啊呀 哪吒 很多 或许 及其 不良 不足 不断 差不多 不少 也许 把手 转让 对手 对话 反对
    相对 对称 有趣 有名 有害 只有 现有 公有 在内 在场 正在 自在 和尚 和服 昭和 与否 都会
    """)
"""Words that hold a character of the lists above; they are not cut there."""
