"""Where the paper's text or fairml's solvers err, and the claims that show it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """Something that is not as printed; measurements of the claims are the evidence."""

    section: str
    printed: str
    correct: str
    claims: tuple[int, ...]


ERRATA = (
    Erratum("2.2", "VAR(Sα + Ũβ) with −2COV(Sα, Ũβ)", "+2COV; the bias figure depends on it", (2,)),
    Erratum(
        "3.1",
        "αᵀVAR(S)α has (l+2λ)/(l+λ)²; bracket equations with c and d",
        "VAR(Sα) has l/(l+λ)²; c and d are exchanged",
        (7, 34),
    ),
    Erratum(
        "3.2",
        "λ(r) and α with ‖Sᵀy‖²; COR(ŷ, S) ∝ √(r/(1−r))",
        "‖Sᵀy‖; COR(ŷ, S) ∝ √r",
        (9,),
    ),
    Erratum(
        "4.3",
        "R²_EO from the coefficients of ŷ on y and S jointly",
        "sequential sums of squares, as fairml computes it: the printed one is not monotone and "
        "does not vanish",
        (12, 14, 50),
    ),
    Erratum(
        "4.3",
        "D_IF, after Berk et al., with d a distance of the outcomes",
        "Berk et al. weigh pairs by how similar their outcomes are; as printed, and in fairml, "
        "D_IF weighs pairs with different outcomes",
        (),
    ),
    Erratum(
        "4.4",
        "for a gaussian model the deviance bound is R²_S ≤ r",
        "only at λ = 0; fairml bounds the share of variance",
        (15,),
    ),
    Erratum("4.4", "a quasi-binomial model keeps β constant", "its β are the binomial ones", (17,)),
    Erratum(
        "5.1",
        "the constraint is inactive whenever R²_S(OLS) ≥ r",
        "≤ r, as section 3 has it",
        (3,),
    ),
    Erratum(
        "5.1",
        "FRRM has the lower training error than NCLM",
        "never: FRRM is feasible for NCLM's problem",
        (23, 40),
    ),
    Erratum(
        "5.1, 5.2",
        "ZLM and ZLRM end at the intercept for r = 0",
        "their limit keeps every b with COV(Xb, S) = 0",
        (22, 27),
    ),
    Erratum("5.2", "BANK has 41188 observations", "40195 in fairml's file", (19,)),
)

SOLVERS = (
    Erratum(
        "NCLM",
        "",
        "A closed form instead of a conic solver: the bound is met exactly, the training error is "
        "the smallest possible, and r = 0 is no special case.",
        (20, 23, 35, 40),
    ),
    Erratum(
        "ZLM, ZLRM",
        "",
        "The exact solution of a lasso in as many coefficients as S has columns: the bound is met, "
        "and r = 0 is a projection.",
        (21, 22, 26, 27),
    ),
    Erratum(
        "FGRRM",
        "",
        "Coefficients to ten digits, and S centered: the share does not depend on the origin of S. "
        "fairml's default tolerance leaves coefficients several percent from the optimum.",
        (26, 30, 43),
    ),
    Erratum(
        "Steinberg",
        "",
        "Newton's method with the exact gradient of the mutual information, from two starts.",
        (29, 45),
    ),
)

# Predictive and training RMSE of R fairml 0.8 itself, means of two runs of 10-fold
# cross-validation: by data set, bound and model.
FAIRML = {
    ("C&C", 0.0, "FRRM"): (0.18041, 0.17037),
    ("C&C", 0.0, "NCLM"): (0.18043, 0.17036),
    ("C&C", 0.05, "FRRM"): (0.16183, 0.15048),
    ("C&C", 0.05, "NCLM"): (0.16255, 0.14828),
    ("C&C", 0.2, "FRRM"): (0.14228, 0.12910),
    ("C&C", 0.2, "NCLM"): (0.14151, 0.12287),
    ("COMPAS", 0.0, "FRRM"): (0.43527, 0.43406),
    ("COMPAS", 0.0, "NCLM"): (0.43527, 0.43406),
    ("COMPAS", 0.05, "FRRM"): (0.42782, 0.42631),
    ("COMPAS", 0.05, "NCLM"): (0.42776, 0.42623),
    ("COMPAS", 0.2, "FRRM"): (0.42679, 0.42512),
    ("COMPAS", 0.2, "NCLM"): (0.42679, 0.42512),
}
