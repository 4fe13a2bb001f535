"""A schema's words are made once, and anew where the schema or what it holds has changed."""

from __future__ import annotations

from dataclasses import replace

from db.generate.shop import SHOP
from refdesk.db.generate.vocabulary import vocabulary
from refdesk.db.schema import ModelSet


def test_made_once():
    """Equal models with equal values share one."""
    samples = {"products": {"brand": ("Nike",)}}
    first = vocabulary(SHOP, samples)
    assert vocabulary(ModelSet(SHOP.models), {"products": {"brand": ("Nike",)}}) is first


def test_made_anew():
    """A further value, a further synonym or a hidden column is seen at once."""
    samples = {"products": {"brand": ["Nike"]}}
    first = vocabulary(SHOP, samples)
    samples["products"]["brand"] = ["Nike", "Acme"]
    assert vocabulary(SHOP, samples) is not first
    assert vocabulary(SHOP, samples).words[("acme",)]
    hidden = ModelSet((SHOP.models[0].without(["city"]), *SHOP.models[1:]))
    assert not vocabulary(hidden, samples).words[("city",)]
    named = ModelSet((replace(SHOP.models[0], synonyms=("guest",)), *SHOP.models[1:]))
    assert vocabulary(named, samples).words[("guest",)]
