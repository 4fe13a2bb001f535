"""In which order rows come, and where nulls stand, as every dialect says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import sqlalchemy as sa

from refdesk.db.dsl.results import Out, place_of, place_of_element
from refdesk.db.dsl.translate import Findings, Translator
from refdesk.db.dsl.types import Constant, Order, Parameter, Query
from refdesk.db.dsl.values import Dialect, Element, Statement, Wrong, own


class Orders:
    """
    Puts statements in order.

    Args:
        findings: What is wrong is noted here.
        dialect: For which database.
        anonymous: Returns an alias that no source has.
    """

    def __init__(
        self, *, findings: Findings, dialect: Dialect, anonymous: Callable[[], str]
    ) -> None:
        self._findings = findings
        self._mysql = dialect in ("mysql", "mariadb")
        self._anonymous = anonymous

    def of_select(
        self,
        query: Query,
        path: str,
        statement: sa.Select[Any],
        outs: tuple[Out, ...],
        translator: Translator,
    ) -> sa.Select[Any]:
        """Return a query's statement in its order, and distinct if it is to be."""
        places: list[int | None] = []
        for index, order in enumerate(query.orders):
            where = _at(path, index)
            place = place_of(order.value, outs)
            with self._findings.part("E130", where):
                if isinstance(order.value, Constant | Parameter):
                    raise Wrong("an order is by a column; a value is the same for every row")
                if query.distinct:
                    if place is None:
                        place = place_of_element(translator.value(order.value, where), outs)
                elif place is None or (order.nulls and self._mysql):
                    value = outs[place].value if place is not None else None
                    element = (value or translator.value(order.value, where)).element
                    statement = statement.order_by(*self._ordered(element, order))
                else:
                    statement = statement.order_by(*self._ordered(own(str(place + 1)), order))
            places.append(place)
        if not query.distinct:
            return statement
        wrong = "what is distinct is ordered by what is selected; select this too"
        distinct = statement.distinct()
        return cast("sa.Select[Any]", self.by_place(distinct, query.orders, places, path, wrong))

    def by_place(
        self,
        statement: Statement,
        orders: tuple[Order, ...],
        places: list[int | None],
        path: str,
        wrong: str,
    ) -> Statement:
        """Order what is a union or distinct, and so can be ordered by its columns only."""
        columns: list[Element] = []
        if self._mysql and any(each.nulls for each in orders):
            # Where nulls stand is said by an expression, which needs a query around it.
            inner = statement.subquery(self._anonymous())
            statement, columns = sa.select(*inner.c), list(inner.c)
        for index, (order, place) in enumerate(zip(orders, places, strict=True)):
            with self._findings.part("E130", _at(path, index)):
                if place is None:
                    raise Wrong(wrong)
                element = columns[place] if columns else own(str(place + 1))
                statement = statement.order_by(*self._ordered(element, order))
        return statement

    def _ordered(self, element: Element, order: Order) -> list[Element]:
        step: Element = element.desc() if order.descending else element.asc()
        if order.nulls is None:
            return [step]
        if not self._mysql:
            return [step.nulls_first() if order.nulls == "first" else step.nulls_last()]
        absent = sa.case((element.is_(None), own("1")), else_=own("0"))
        return [absent.desc() if order.nulls == "first" else absent.asc(), step]


def _at(path: str, index: int) -> str:
    return f"{path}.orders[{index}]" if path else f"orders[{index}]"
