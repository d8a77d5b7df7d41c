"""On which page of the reference each public name stands."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GROUPS", "PACKAGES", "SPREAD", "Group"]


class Group(NamedTuple):
    """A page of the reference.

    Attributes:
        page: its name.
        title: its heading.
        about: one sentence on it.
        names: public names of ``tacit`` and, with its namespace, of others, such as
            ``framework.Space``, in the order in which a reader needs them.
        given: by the name that a reader calls it, what calls return: its module and its class.
    """

    page: str
    title: str
    about: str
    names: str
    given: dict[str, str] = {}  # noqa: RUF012


GROUPS = (
    Group(
        "tables",
        "Sessions and data sets",
        "Open a table of people, and say whom an answer protects and what may be spent.",
        "Session unit one_row_each open Dataset check connect",
        {"Connection": "tacit.client.connection"},
    ),
    Group(
        "questions",
        "Questions and answers",
        "What a session gives: questions, their expected errors, their answers.",
        "synthetic_table tables.SyntheticTable",
        {
            "Question": "tacit.tables.question",
            "QuestionPlan": "tacit.tables.joint_plans.planning",
            "Preview": "tacit.tables.plan.preview",
            "Answer": "tacit.tables.release.answer",
            "Estimate": "tacit.tables.noise",
        },
    ),
    Group(
        "statistics",
        "Statistics of a table",
        "What a question may ask for, and the expressions that it reads.",
        "count count_people count_distinct sum mean trimmed_mean "
        "winsorized_mean geometric_mean gini median percentile quantile percentiles min max "
        "var std interquartile_range mad value_range histogram bounds ranges prefix_sums cdf "
        "covariance correlation linear_regression weighted_count weighted_sum weighted_mean ratio "
        "top_k framework.top_code col when",
    ),
    Group(
        "budgets",
        "Budgets and ledgers",
        "How much may be spent, and the file that keeps it.",
        "epsilon epsilon_delta rho in_memory choose_epsilon accounting.Budget accounting.Ledger "
        "accounting.open_ledger",
    ),
    Group(
        "certificates",
        "Certificates and claims",
        "What a release proves, and how a claim is checked.",
        "Certificate framework.plot_accuracy",
        {"Verification": "tacit.report.verify"},
    ),
    Group(
        "sensitivity",
        "Sensitivities",
        "How far a statistic can move between neighbouring data sets, computed exactly.",
        "sensitivity Records Values Interval sensitivity_profile sensitivity_table "
        "local_sensitivity_at smooth_sensitivity distance_to_instability "
        "propose_test_release smooth_noise sample_and_aggregate statistics.stability_map "
        "statistics.lower_bound statistics.sampled_sensitivity statistics.search_cost "
        "statistics.batched",
        {"Sensitivity": "tacit.statistics.result"},
    ),
    Group(
        "framework",
        "Spaces, metrics and measures",
        "Which values, how far apart they are, and how far apart distributions are.",
        "framework.Space framework.Vector framework.Number framework.Category "
        "framework.Frame framework.SymmetricDistance framework.ChangeOneDistance "
        "framework.HammingDistance framework.InsertDeleteDistance framework.AbsoluteDistance "
        "framework.L1Distance framework.L2Distance framework.LInfinityDistance "
        "framework.SparseDistance framework.DiscreteDistance framework.PureDP "
        "framework.ApproximateDP framework.ZeroConcentratedDP framework.RenyiDP "
        "framework.RenyiCurve framework.ApproximateZeroConcentratedDP "
        "framework.Transformation framework.Measurement framework.compose framework.parallel "
        "framework.adaptive framework.convert framework.calibrate",
    ),
    Group(
        "divergences",
        "Divergences and privacy loss",
        "Two output distributions, compared in exact numbers.",
        "framework.divergence framework.privacy_loss framework.PrivacyLossDistribution "
        "framework.Tradeoff framework.TradeoffFunction framework.max_divergence "
        "framework.hockey_stick framework.renyi_divergence framework.total_variation "
        "framework.IdealisedLaplace framework.IdealisedGaussian",
    ),
    Group(
        "transformations",
        "Steps of a chain: transformations",
        "Deterministic steps with a stability map.",
        "framework.clamp framework.impute framework.cast framework.bin framework.filter "
        "framework.map_rows framework.select framework.resize framework.to_grid "
        "framework.sum_of_squares framework.count_by_category framework.prefix_counts "
        "framework.quantile_scores framework.linear_queries framework.tree_counts "
        "framework.consistent_tree framework.to_symmetric framework.to_change_one "
        "framework.to_insert_delete framework.to_absolute framework.to_discrete "
        "framework.to_l1 framework.to_l2 framework.to_l_infinity framework.as_transformation "
        "framework.user_transformation",
    ),
    Group(
        "mechanisms",
        "Steps of a chain: mechanisms",
        "Random steps with a privacy map.",
        "framework.laplace framework.gaussian framework.geometric framework.staircase "
        "framework.truncated_geometric framework.truncated_laplace framework.exponential "
        "framework.noisy_max framework.permute_and_flip framework.private_quantile "
        "framework.randomized_response "
        "framework.above_threshold framework.sparse_vector framework.continual_count "
        "framework.continual_counter framework.select_partitions framework.select_best "
        "framework.poisson_sample framework.sample_without_replacement "
        "framework.user_measurement framework.propose_bound",
    ),
)
"""Names that are functions or classes, by page: all of ``tacit`` and of ``tacit.framework``."""

SPREAD = ("framework", "accounting", "statistics", "tables")
"""Namespaces whose names are on the pages above; all of the framework's are."""

PACKAGES = {
    "local": "The local model",
    "noise": "Exact noise",
    "audit": "Audits of mechanisms",
    "workload": "Workloads of linear questions",
    "data": "Bundled data",
    "learn": "Exercises of the tutorials",
    "sklearn": "For scikit-learn",
    "errors": "Errors and warnings",
}
"""Public names that are modules: each has its own page, with all its names."""
