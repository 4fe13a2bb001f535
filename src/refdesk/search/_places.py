"""Countries and large cities by their common names, so that one can stand in for another."""

from __future__ import annotations

from typing import Final

_NAMES: Final = """
    afghanistan, albania, algeria, angola, argentina, armenia, australia, austria, azerbaijan,
    bahrain, bangladesh, belarus, belgium, bolivia, bosnia, botswana, brazil, bulgaria, cambodia,
    cameroon, canada, chile, china, colombia, costa rica, croatia, cuba, cyprus, czechia,
    the czech republic, denmark, ecuador, egypt, england, estonia, ethiopia, finland, france,
    germany, ghana, great britain, greece, guatemala, hungary, iceland, india, indonesia, iran,
    iraq, ireland, israel, italy, jamaica, japan, kazakhstan, kenya, kuwait, latvia, lebanon,
    libya, lithuania, luxembourg, malaysia, malta, mexico, mongolia, morocco, myanmar, nepal,
    the netherlands, netherlands, new zealand, nigeria, north korea, norway, oman, pakistan,
    panama, paraguay, peru, the philippines, philippines, poland, portugal, qatar, romania,
    russia, rwanda, saudi arabia, scotland, senegal, serbia, singapore, slovakia, slovenia,
    somalia, south africa, south korea, spain, sri lanka, sudan, sweden, switzerland, syria,
    taiwan, tanzania, thailand, tunisia, uganda, ukraine, the uae, the uk, uk, the united kingdom,
    the united states, united states, the us, the usa, uruguay, uzbekistan, venezuela, vietnam,
    wales, yemen, zambia, zimbabwe,
    amsterdam, athens, atlanta, auckland, austin, baghdad, bangalore, bangkok, barcelona, beijing,
    berlin, bogota, boston, brussels, budapest, buenos aires, cairo, cape town, chengdu, chicago,
    copenhagen, dallas, delhi, denver, detroit, dubai, dublin, frankfurt, geneva, guangzhou,
    hamburg, hanoi, helsinki, hong kong, houston, istanbul, jakarta, johannesburg, karachi, kyiv,
    kyoto, lagos, lima, lisbon, london, los angeles, lyon, madrid, manchester, manila, marseille,
    melbourne, mexico city, miami, milan, montreal, moscow, mumbai, munich, nairobi, new delhi,
    new york, new york city, osaka, oslo, paris, philadelphia, prague, rio de janeiro, rome,
    san diego, san francisco, santiago, sao paulo, seattle, seoul, shanghai, shenzhen, stockholm,
    sydney, taipei, tehran, tel aviv, tokyo, toronto, vancouver, vienna, warsaw, washington,
    wuhan, zurich,
    中国, 美国, 英国, 法国, 德国, 意大利, 西班牙, 葡萄牙, 荷兰, 比利时, 瑞士, 奥地利, 瑞典, 挪威,
    丹麦, 芬兰, 冰岛, 波兰, 捷克, 匈牙利, 希腊, 土耳其, 俄罗斯, 乌克兰, 爱尔兰, 日本, 韩国, 朝鲜,
    印度, 巴基斯坦, 泰国, 越南, 新加坡, 马来西亚, 印度尼西亚, 印尼, 菲律宾, 蒙古, 澳大利亚,
    新西兰, 加拿大, 墨西哥, 巴西, 阿根廷, 智利, 秘鲁, 哥伦比亚, 埃及, 南非, 肯尼亚, 尼日利亚,
    伊朗, 伊拉克, 以色列, 沙特阿拉伯, 沙特, 阿联酋, 卡塔尔, 北京, 上海, 广州, 深圳, 杭州, 南京,
    苏州, 成都, 重庆, 武汉, 西安, 天津, 青岛, 大连, 厦门, 长沙, 郑州, 沈阳, 哈尔滨, 昆明, 香港,
    澳门, 台湾, 台北, 东京, 大阪, 京都, 首尔, 曼谷, 伦敦, 巴黎, 柏林, 慕尼黑, 罗马, 米兰, 马德里,
    巴塞罗那, 莫斯科, 纽约, 洛杉矶, 旧金山, 芝加哥, 波士顿, 西雅图, 华盛顿, 多伦多, 温哥华, 悉尼,
    墨尔本, 迪拜
"""

PLACES: Final = frozenset(name.strip() for name in _NAMES.split(","))
"""In lower case; English names with the article where they are said with one."""
