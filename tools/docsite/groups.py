"""On which page of the reference each public name stands."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GROUPS", "ROOMS", "Group"]


class Group(NamedTuple):
    """A page of the reference.

    Attributes:
        page: its name.
        title: its heading.
        about: one sentence on it.
        names: public names of ``tacit``, in the order in which a reader needs them.
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
        "synthetic_table SyntheticTable",
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
        "count count_people count_distinct sum mean median percentile percentiles min max var std "
        "interquartile_range histogram bounds ranges prefix_sums cdf covariance correlation "
        "linear_regression top_k top_code col when",
    ),
    Group(
        "budgets",
        "Budgets and ledgers",
        "How much may be spent, and the file that keeps it.",
        "Budget epsilon epsilon_delta rho Ledger open_ledger in_memory choose_epsilon",
    ),
    Group(
        "certificates",
        "Certificates and claims",
        "What a release proves, and how a claim is checked.",
        "Certificate verify compare plot_accuracy",
        {"Verification": "tacit.report.verify"},
    ),
    Group(
        "sensitivity",
        "Sensitivities",
        "How far a statistic can move between neighbouring data sets, computed exactly.",
        "sensitivity Records Values Interval sensitivity_profile sensitivity_table "
        "local_sensitivity_at smooth_sensitivity distance_to_instability stability_map "
        "lower_bound sampled_sensitivity search_cost batched",
        {"Sensitivity": "tacit.statistics.result"},
    ),
    Group(
        "framework",
        "Spaces, metrics and measures",
        "Which values, how far apart they are, and how far apart distributions are.",
        "Space Vector Number Category Frame SymmetricDistance ChangeOneDistance HammingDistance "
        "InsertDeleteDistance AbsoluteDistance L1Distance L2Distance LInfinityDistance "
        "SparseDistance DiscreteDistance PureDP ApproximateDP ZeroConcentratedDP RenyiDP "
        "RenyiCurve ApproximateZeroConcentratedDP Transformation Measurement compose parallel "
        "adaptive convert calibrate",
    ),
    Group(
        "divergences",
        "Divergences and privacy loss",
        "Two output distributions, compared in exact numbers.",
        "divergence privacy_loss PrivacyLossDistribution Tradeoff TradeoffFunction max_divergence "
        "hockey_stick renyi_divergence total_variation IdealisedLaplace IdealisedGaussian",
    ),
    Group(
        "transformations",
        "Steps of a chain: transformations",
        "Deterministic steps with a stability map.",
        "clamp impute cast bin filter map_rows select resize to_grid sum_of_squares variance "
        "count_by_category prefix_counts quantile quantile_scores linear_queries tree_counts "
        "consistent_tree to_symmetric to_change_one to_insert_delete to_absolute to_discrete "
        "to_l1 to_l2 to_l_infinity transformation user_transformation",
    ),
    Group(
        "mechanisms",
        "Steps of a chain: mechanisms",
        "Random steps with a privacy map.",
        "laplace gaussian geometric staircase truncated_geometric exponential noisy_max "
        "permute_and_flip private_quantile randomized_response above_threshold sparse_vector "
        "continual_count continual_counter release_keys select_keys gaussian_keys "
        "gaussian_keys_in_rounds select_best poisson_sample sample_without_replacement measurement "
        "propose_test_release propose_bound smooth_noise sample_and_aggregate",
    ),
)
"""Public names that are functions or classes, by page."""

ROOMS = {
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
