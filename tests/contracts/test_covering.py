"""The rows in which parts of several tables meet: every pair that is wanted, few rows, none that are apart."""

from itertools import product

import pytest
from covering import covering, meetings
from hypothesis import given
from hypothesis import strategies as st

TABLES = {"decoder": "abcdef", "encoder": "ABCDEFGHIJK", "score": "0123456789", "head": "xyz"}


def wanted(one: str, other: str) -> set[frozenset[tuple[str, str]]]:
    return {frozenset([(one, name), (other, beside)]) for name, beside in product(TABLES[one], TABLES[other])}


def met(rows: list[dict[str, str]]) -> set[frozenset[tuple[str, str]]]:
    return {meeting for row in rows for meeting in meetings(row)}


def test_every_pair_of_two_tables_meets_in_as_few_rows_as_can_be():
    rows = covering({name: TABLES[name] for name in ("decoder", "encoder")}, [("decoder", "encoder")])
    assert met(rows) == wanted("decoder", "encoder")
    assert len(rows) == 6 * 11


@pytest.mark.parametrize("others", [["encoder"], ["encoder", "score"], ["encoder", "score", "head"]], ids=len)
def test_more_tables_beside_one_cost_no_more_rows(others):
    rows = covering(TABLES, [("decoder", other) for other in others])
    assert met(rows) >= set().union(*(wanted("decoder", other) for other in others))
    assert len(rows) <= 6 * 11 * 1.1
    assert all(row.keys() == TABLES.keys() for row in rows)


@given(
    st.sets(st.sampled_from(sorted(wanted("encoder", "score") | wanted("decoder", "score"), key=sorted)), max_size=9)
)
def test_parts_that_are_apart_never_meet(apart):
    pairs = [("encoder", "score"), ("decoder", "score"), ("decoder", "encoder")]
    found = met(covering(TABLES, pairs, apart=apart))
    assert not found & apart
    assert found >= set().union(*(wanted(*pair) for pair in pairs)) - apart


def test_the_same_rows_come_every_time():
    assert covering(TABLES, [("encoder", "score")]) == covering(TABLES, [("encoder", "score")])
