"""Cumulative shares: their definition, their intervals, and plans that ask for them."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.tables.together.test_family import BINS, NOISES, SEX

import tacit as tc
from tacit.errors import UsageError
from tacit.tables.together.cell_counts import AskedCells, CellsPart, key_of

pytestmark = pytest.mark.full
ASKED = AskedCells((SEX, BINS), reading="shares")
EDGES = [0, 20, 50, 97]
AGES = [(i * 37) % 97 for i in range(400)]


def drawn(noise, cells, runs):
    """The noisy numbers of a part of one question, for counts of cells."""
    part = CellsPart((ASKED,))
    ((step, _),) = part.chains(1, (), noise)
    ((family, paid),) = part._paid(noise)
    exact = np.array(step.combined(np.asarray(cells, dtype=object)), dtype=np.float64)
    scale = Fraction(family.law(paid).scale * noise.one)
    made = tc.noise.discrete_gaussian if noise.kind == "gaussian" else tc.noise.discrete_laplace
    added = np.asarray(made(scale, size=step.size * runs)).reshape(runs, -1) / noise.one
    return part, [[exact + each] for each in added]


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: f"{noise.kind}-{noise.rows}")
@pytest.mark.parametrize("most", [4, 60, 2000])
def test_intervals_cover_whatever_the_size_of_the_table(noise, most):
    cells = np.zeros((SEX.size, BINS.size), dtype=np.int64)
    cells[0, :3], cells[1, :3] = [most, 0, most // 2], [0, 0, most]
    truth = (np.cumsum(cells[:2, :3], axis=1) / cells[:2, :3].sum(axis=1)[:, None]).ravel()
    runs = 300
    part, every = drawn(noise, cells, runs)
    inside, widths = np.zeros(truth.shape), np.zeros(truth.shape)
    for released in every:
        found = part.estimates(released, noise)[key_of(ASKED)].coherent()
        value, low, high = (x.ravel() for x in (found.value, found.lower, found.upper))
        assert (low >= 0).all()
        assert (low <= value).all()
        assert (value <= high).all()
        assert (high <= 1).all()
        assert (np.diff(found.value.reshape(2, 3), axis=1) >= 0).all()
        assert (value[2::3] == 1).all()
        inside += (low <= truth + 1e-12) & (truth <= high + 1e-12)
        widths += high - low
    # 95 of 100 and more: 0.90 would be four deviations below
    assert inside.min() / runs >= 0.90
    told = part.half_width(key_of(ASKED), noise, most, 0.95)
    assert (widths.max() / runs / 2 <= told * 1.6) or told > 0.2


def test_a_share_is_the_count_below_an_edge_beside_that_of_all_bins():
    frame = pa.table({"age": [*AGES, -5, 200, None], "sex": ["fm"[i % 2] for i in range(403)]})
    with tc.Session(frame, tc.one_row_each, tc.rho(10**7), tc.in_memory, name="people") as session:
        asked = session.group_by("sex", keys=["m", "f", "x"]).agg(below=tc.cdf("age", EDGES))
        plan = session.plan([asked, session.agg(all=tc.cdf("age", EDGES), n=tc.count())])
        groups, whole = plan.release(rho=10**6)
        truth = [sum(age < edge for age in AGES) / len(AGES) for edge in EDGES[1:]]
        assert np.allclose(whole.value("all"), truth, atol=0.01)
        assert whole.column("all")["bins"] == ["[0, 20)", "[0, 50)", "[0, 97]"]
        women = [age for place, age in enumerate(AGES) if place % 2 == 0]
        right = [sum(age < edge for age in women) / len(women) for edge in EDGES[1:]]
        assert np.allclose(groups.value("below", "f"), right, atol=0.01)
        certificate = whole.certificate
        assert certificate.verify(session.ledger)
        page = certificate.to_html()
        assert "the share of the values of" in page
        assert asked.free_answer() is None
        assert plan.release(rho=10**6)[0].replayed
    forged = json.loads(json.dumps(certificate.body))
    forged["answer"]["columns"][0]["value"][0][0] += 1e-6
    assert not tc.Certificate(forged).verify()


def test_it_costs_what_prefix_sums_cost_and_shares_their_noise():
    frame = pa.table({"age": AGES})
    with tc.Session(frame, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people") as session:
        sums, shares = tc.prefix_sums("age", EDGES), tc.cdf("age", EDGES)
        one, two = session.plan([session.agg(s=sums)]), session.plan([session.agg(f=shares)])
        assert [x["cells"] for x in one.strategy] == [x["cells"] for x in two.strategy]
        both = session.plan([session.agg(s=sums, f=shares)])
        assert len(both.strategy) == 1
        told = both.preview(epsilon=1, rows=[400, 4000]).errors["f"]
        assert told[0] == pytest.approx(10 * told[1])
        # three quarters of the squared error of the sums, beside 400 rows, is a safe least here
        assert told[0] < 2 * both.preview(epsilon=1).errors["s"][0] / 400
        answer, (alone,) = both.release(epsilon="1/2")[0], two.release(epsilon="1/2")
        assert answer.certificate.verify(session.ledger)
        assert alone.certificate.verify(session.ledger)


def test_nothing_counted_gives_even_shares_and_says_nothing_is_known():
    part, ((noisy,),) = drawn(NOISES[0], np.zeros((SEX.size, BINS.size), dtype=int), 1)
    found = part.estimates([-np.abs(noisy) * 0 - 50.0], NOISES[0])[key_of(ASKED)].coherent()
    assert np.allclose(found.value.reshape(2, 3)[:, -1], 1)
    assert (found.lower.ravel()[:2] >= 0).all()


def test_a_share_needs_edges_of_one_column():
    with pytest.raises(UsageError, match="edges"):
        tc.cdf("age", [1])
