"""Measure, print the tables, and compare with the recorded ones.

``python -m benchmarks [PART ...] [--quick] [--record]`` measures all parts or some;
``python -m benchmarks compare`` compares the last measurement once more, and
``python -m benchmarks compare --record`` records it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks import (
    gaussian,
    growth,
    inference,
    logistic,
    mean_parity,
    page,
    ratios,
    recorded,
    reference,
    small,
    sparse,
    stacking,
    streaming,
    validation,
    wide,
)
from benchmarks.figures import Part

# Memory is measured in the second: on Linux a child starts from the peak of its parent.
PARTS: dict[str, Part] = {
    "small": small.PART,
    "gaussian": gaussian.PART,
    "inference": inference.PART,
    "ratios": ratios.PART,
    "logistic": logistic.PART,
    "means": mean_parity.PART,
    "growth": growth.PART,
    "fairml": reference.PART,
    "validation": validation.PART,
    "streaming": streaming.PART,
    "wide": wide.PART,
    "sparse": sparse.PART,
    "stacking": stacking.PART,
}
# Measured only if it is named: a quarter of an hour of learners' fits.
LONG = ("stacking",)


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    arguments = parser.parse_args(argv)
    measured, compare = arguments.out / "measured.json", "compare" in arguments.parts
    parts = [name for name in arguments.parts if name != "compare"] or [
        name for name in PARTS if name not in LONG
    ]
    if arguments.record and arguments.quick:
        parser.error("--quick measures smaller problems, which are not to be recorded")
    if compare and not measured.exists():
        parser.error(f"{measured} does not exist; measure first: make bench")
    if compare:
        record = {name: one for name, one in recorded.read(measured).items() if name in parts}
    else:
        record = {name: PARTS[name].record(arguments.quick) for name in parts}
        recorded.write(measured, record)
        _show(record, arguments.out)
    text, slower = recorded.report(recorded.read(recorded.RECORDED), record, arguments.tolerance)
    print(text)
    if arguments.record:
        recorded.write(recorded.RECORDED, record)
        page.rewrite(page.ROOT, PARTS, recorded.read(recorded.RECORDED))
        print(f"recorded in {recorded.RECORDED} and {page.ROOT / page.TABLES}")
    return int(compare and slower)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", type=_part, metavar="PART", help=" ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="smaller problems, fewer calls")
    parser.add_argument("--record", action="store_true", help="write the record and the tables")
    parser.add_argument("--out", type=Path, default=Path("bench-output"), metavar="DIR")
    parser.add_argument("--tolerance", type=float, default=recorded.TOLERANCE, metavar="FACTOR")
    return parser


def _part(name: str) -> str:
    # With choices, argparse would refuse that no part is named.
    if name not in (*PARTS, "compare"):
        raise argparse.ArgumentTypeError(f"no part {name!r}; parts are {', '.join(PARTS)}")
    return name


def _show(record: recorded.Record, out: Path) -> None:
    """Print the tables, and write them and the picture."""
    lines: list[str] = []
    for name, found in record.items():
        part = PARTS[name]
        lines += [f"## {part.title}", "", *part.render(part, recorded.figures_of(found)), ""]
    machine = next(iter(record.values()))["machine"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "benchmarks.md").write_text("\n".join([machine, "", *lines]))
    print("\n".join(["", machine, "", *lines]))
    if "growth" in record:
        growth.draw(recorded.figures_of(record["growth"]), out / "rows.svg")
    print(f"written to {out}\n")


if __name__ == "__main__":
    raise SystemExit(main())
