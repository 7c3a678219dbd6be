"""What the words of the report mean: on the page, and as footnotes on paper."""

from __future__ import annotations

from fairridge.markup import Html, element, section

# Words that are explained in every report.
ALWAYS = ("S", "r", "λ(r)", "Score", "R² on S", "D²")
MEANINGS: dict[str, str] = {
    "S": "the sensitive attributes, as columns of numbers: an attribute with levels has a 0/1 "
    "column for each of them but one, the base level",
    "r": "the bound on unfairness: 0 leaves no linear dependence on S, 1 does not bound it",
    "λ(r)": "the size of the penalty that meets the bound r",
    "Score": "intercept plus the sum of coefficients times columns",
    "R² on S": "share of the variance of scores that S explains in a linear regression",
    "D²": "share of the deviance that the model explains; R² for gaussian models",
    "Predicted": "mean of the predicted numbers or probabilities",
    "Among equals": "by how much the mean prediction of the group exceeds that of all others with "
    "equal controls: the coefficient of the group in a linear regression beside the controls",
    "Observed": "mean of the observed responses, or their rate",
    "Selected": "share of the group that is selected",
    "Ratio": "adverse impact ratio: selection rate over the highest one of the attribute's groups",
    "SMD": "standardized mean difference: mean prediction of the group less that of all other "
    "rows, in standard deviations",
    "KS": "Kolmogorov–Smirnov distance to all other rows: the largest difference between the two "
    "distribution functions; 0 is the same distribution, 1 no overlap",
    "Wasser\u00adstein": "how far predictions must be moved, on average, to be distributed as "
    "those of all other rows",
    "TPR": "true positive rate: share selected among those with the favorable outcome",
    "FPR": "false positive rate: share selected among the others",
    "Cali\u00adbration": "mean of observed minus predicted: 0 is calibrated",
    "Pred./obs.": "mean of predicted over mean of observed: 1 is calibrated",
    "Of highest": "mean prediction over the highest one of the attribute's groups",
    "Changed": "selected only here / only by the model without a bound",
    "Coefficient": "of the decorrelated column, on its original scale",
    "95 % interval": "for the coefficient of this fair model fitted to the whole population, at "
    "the chosen bound; it accounts for the estimation of what S explains and of λ(r)",
    "Standardized": "coefficient times the standard deviation of its column",
    "Against no bound": "standardized, less that of the model without a bound",
    "Raw": "coefficient of the column in its original form",
    "Its share": "mean of what the attribute adds, over all orders of the attributes (Shapley)",
    "Alone": "what the attribute explains by itself",
    "Added last": "what the attribute adds to all the others",
    "S explains": "share of the predictor's variance that S explains",
    "Carries without a bound": "of what S explains of the unconstrained scores, the part that "
    "runs through this predictor; negative if it works against the rest",
    "PSI": "population stability index: Σ (new − old) log(new/old) over levels or tenths of the "
    "training rows; below 0.1 is usually called stable, above 0.25 a shift",
    "By chance": "mean of the PSI if nothing has changed, for this many rows",
}
NUMBERS = {name: k for k, name in enumerate(MEANINGS, 1)}


def heading(name: str) -> Html | str:
    """Make a heading that explains itself, with the number of its footnote on paper."""
    if name not in MEANINGS:
        return name
    return element("abbr", name, title=MEANINGS[name], data_note=NUMBERS[name])


def words_section(sections: list[Html]) -> Html:
    """Explain the words that these sections use."""
    text = "".join(sections)
    items = [
        element(
            "li", element("b", name.replace("\u00ad", "")), f": {MEANINGS[name]}.", value=number
        )
        for name, number in NUMBERS.items()
        if name in ALWAYS or f'data-note="{number}"' in text
    ]
    return section("words", "What the words mean", element("ol", items, class_="words"))
