"""Examples of the help pages; tests run every one of them."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "datasets": (
        "fairridge datasets",
        "fairridge datasets german_credit --out credit.csv",
    ),
    "fit": (
        "fairridge fit builtin:german_credit --unfairness 0.05 --out model.json",
        "fairridge fit credit.csv --response Credit_risk --sensitive Age,Gender "
        "--drop Foreign_worker",
        "fairridge fit builtin:german_credit --blind --min-frequency 20",
        "fairridge fit builtin:communities_crime --inference",
        "fairridge fit builtin:communities_crime --unfairness 0.2 --confidence 0.95",
    ),
    "path": (
        "fairridge path builtin:communities_crime --bounds 0,0.05,0.1,1",
        "fairridge path credit.csv --response Credit_risk --sensitive Gender --out path.csv",
    ),
    "predict": ("fairridge predict credit.csv --model model.json --out scores.csv",),
    "reasons": (
        "fairridge reasons credit.csv --model model.json --direction down --out letters.csv",
    ),
    "export": (
        "fairridge export --model model.json --to sql --dialect postgres --out score.sql",
        "fairridge export --model model.json --to python --out score.py",
    ),
    "audit": (
        "fairridge audit scores.csv --prediction probability_GOOD --response Credit_risk "
        "--positive GOOD --sensitive Age,Gender",
        "fairridge audit credit.csv --model model.json --response Credit_risk --json",
    ),
    "compare": ("fairridge compare builtin:german_credit --unfairness 0.05 --models FGRRM,ZLRM",),
    "choose": (
        "fairridge choose builtin:german_credit --rule adverse-impact:0.8 --held-out 0.4",
        "fairridge choose credit.csv --response Credit_risk --sensitive Gender "
        "--rule opportunity-gap:0.2 --favorable GOOD",
    ),
    "monitor": (
        "fairridge monitor credit.csv --model model.json --state watch.json --unfairness 0.1",
    ),
    "report": (
        "fairridge report builtin:german_credit --unfairness 0.05 --cv 5 --bootstrap 20",
        "fairridge report credit.csv --model model.json --response Credit_risk --new-rows "
        "--out later.html",
    ),
    "demo": ("fairridge demo",),
}
