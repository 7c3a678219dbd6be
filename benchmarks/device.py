"""Fits to rows on a GPU: time, memory, and agreement with rows in main memory.

    PYTHONPATH=src python -m benchmarks.device --out device.md

needs torch with a GPU; CuPy and JAX are measured too if they are there.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
import traceback
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np

from fairridge import FairRidgeClassifier, FairRidgeRegressor

SENSITIVE = list(range(5))
TABLE: list[tuple[str, str]] = []


def note(what: str, found: str) -> None:
    TABLE.append((what, found))
    print(f"{what}: {found}", flush=True)


def part(function):
    """Run one part of the benchmark; a failure is one line of the table."""

    def guarded(*arguments):
        try:
            return function(*arguments)
        except Exception as error:
            traceback.print_exc()
            note(function.__doc__ or function.__name__, f"failed: {type(error).__name__}: {error}")
            return None

    return guarded


def seconds(call, repeat: int) -> float:
    import torch

    times = []
    for _ in range(repeat):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak(call, input_bytes: int) -> float:
    """Memory that a call takes beyond what is there, as a share of the input."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / input_bytes


def problem(n: int, columns: int, dtype, seed: int = 0):
    """Z = [S, X] and a linear predictor, written in blocks."""
    import torch

    make = torch.Generator(device="cuda").manual_seed(seed)
    q = len(SENSITIVE)
    mix = 0.3 * torch.randn(q, columns - q, generator=make, device="cuda", dtype=torch.float64)
    b = 0.1 * torch.randn(columns, generator=make, device="cuda", dtype=torch.float64)
    Z = torch.empty(n, columns, device="cuda", dtype=dtype)
    eta = torch.empty(n, device="cuda", dtype=torch.float64)
    step = 1 << 20
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        block = torch.randn(
            rows.stop - start, columns, generator=make, device="cuda", dtype=torch.float64
        )
        block[:, q:] += block[:, :q] @ mix
        Z[rows] = block
        eta[rows] = block @ b
    noise = torch.randn(n, generator=make, device="cuda", dtype=torch.float64)
    return Z, eta, noise


def models():
    yield "gaussian", FairRidgeRegressor(0.05, sensitive=SENSITIVE), lambda eta, e: eta + e
    classifier = FairRidgeClassifier(0.05, sensitive=SENSITIVE)
    yield "logistic", classifier, lambda eta, e: 1.0 * (eta + e > 0)
    yield (
        "mean parity",
        FairRidgeClassifier(0.05, sensitive=SENSITIVE, definition="mean-parity"),
        lambda eta, e: 1.0 * (eta + e > 0),
    )
    yield (
        "blind",
        FairRidgeClassifier(0.05, sensitive=SENSITIVE, blind=True),
        lambda eta, e: 1.0 * (eta + e > 0),
    )
    yield (
        "poisson",
        FairRidgeRegressor(0.05, sensitive=SENSITIVE, family="poisson"),
        lambda eta, e: np.floor(np.exp(0.3 * eta + 0.5 * e)),
    )
    yield (
        "multinomial",
        FairRidgeClassifier(0.05, sensitive=SENSITIVE),
        lambda eta, e: 1.0 * (eta + e > -0.5) + 1.0 * (eta + e > 0.7),
    )


def libraries():
    """Ways to put a NumPy array on the GPU."""
    found = {}
    try:
        import torch

        found["torch"] = lambda a: torch.asarray(a, device="cuda")
    except ImportError:
        pass
    try:
        import cupy

        found["cupy"] = cupy.asarray
    except ImportError:
        pass
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        found["jax"] = jax.numpy.asarray
    except ImportError:
        pass
    return found


@part
def agreement(n: int, columns: int):
    """Agreement with NumPy"""
    import torch

    Z, eta, noise = (a.cpu().numpy() for a in problem(n, columns, torch.float64))
    found = libraries()
    for name, model, response in models():
        y = response(eta, noise)
        start = time.perf_counter()
        host = type(model)(**model.get_params()).fit(Z, y)
        took = time.perf_counter() - start
        for library, put in found.items():
            if library == "torch" or name in ("gaussian", "logistic"):
                one(name, library, model, put, (Z, y), host, took)
    torch.cuda.empty_cache()


def one(name, library, model, put, data, host, took):
    try:
        Z, y = map(put, data)
        type(model)(**model.get_params()).fit(Z, y)  # compiles kernels
        start = time.perf_counter()
        fitted = type(model)(**model.get_params()).fit(Z, y)
        gpu = time.perf_counter() - start
        gap = float(np.abs(fitted.coef_ - host.coef_).max())
        predicted = fitted.predict(Z)
        same = type(predicted) is type(y) and predicted.shape == y.shape
        note(
            f"{name}, {library}, {len(data[1]):,} rows",
            f"{gpu:.3f} s (NumPy {took:.3f} s), largest difference of coefficients {gap:.1e}, "
            f"{fitted.n_iter_} passes, predictions as {library} arrays: {same}",
        )
    except Exception as error:
        traceback.print_exc()
        note(f"{name}, {library}", f"failed: {type(error).__name__}: {error}")


@part
def passes(Z, y):
    """Single passes"""
    import torch

    from fairridge.engines import DeviceEngine, DeviceRows
    from fairridge.families import Binomial

    q, k = len(SENSITIVE), Z.shape[1]
    names = tuple(f"x{j}" for j in range(k))
    rows = DeviceRows((Z,), (np.arange(k),), q, names, y, np.array([0.0, 1.0]))
    engine, family = DeviceEngine(rows, Binomial()), Binomial()
    note(
        "pass: moments", f"{1e3 * seconds(lambda: DeviceEngine(rows, family).moments(), 3):.1f} ms"
    )
    engine.moments()
    center, level, raw = np.zeros(k), np.zeros(1), np.full((1, k), 0.01)
    for order in (1, 2):
        took = seconds(lambda: engine.derivatives(family, center, level, raw, order), 3)  # noqa: B023
        note(f"pass: derivatives of order {order}", f"{1e3 * took:.1f} ms")
    b, w = torch.zeros(k, 1, device="cuda", dtype=Z.dtype), Z[:1_000_000, 0].clone()
    block = Z[:1_000_000]
    thin = torch.cat([block[:, :7]], dim=1)
    million = {
        "Z b": lambda: block @ b,
        "Z'Z": lambda: block.T @ block,
        "Z'V, 7 columns": lambda: block.T @ thin,
        "wide'wide": lambda: block[:, q:].T @ block[:, q:],
        "wide'V, 7 columns": lambda: block[:, q:].T @ thin,
        "wide'v, 1 column": lambda: block[:, q:].T @ thin[:, :1],
        "Z w": lambda: block * w[:, None],
        "wide w": lambda: block[:, q:] * w[:, None],
        "7 columns beside each other": lambda: torch.cat([block[:, :5], block[:, 5:7]], dim=1),
    }
    for name, call in million.items():
        call()
        note(f"million rows: {name}", f"{1e3 * seconds(call, 5):.3f} ms")


@part
def large(n: int, columns: int):
    """Large problem"""
    import torch

    Z, eta, noise = problem(n, columns, torch.float64)
    size = Z.numel() * Z.element_size()
    note("rows", f"{n:,} × {columns} float64, {size / 1e9:.1f} GB")
    bare = lambda: Z.T @ Z  # noqa: E731
    bare()
    product = seconds(bare, 5)
    note("bare product Z.T @ Z", f"{1e3 * product:.1f} ms (1.00×)")
    y = eta + noise
    model = FairRidgeRegressor(0.05, sensitive=SENSITIVE)
    path = lambda: model.path(Z, y)  # noqa: E731
    path()
    took = seconds(path, 5)
    note("101-point gaussian path", f"{1e3 * took:.1f} ms ({took / product:.2f}×)")
    note("its peak of extra memory", f"{100 * peak(path, size):.1f} % of the input")
    y = (eta + noise > 0).to(torch.float64)
    del eta, noise
    classifier = FairRidgeClassifier(0.05, sensitive=SENSITIVE)
    fit = lambda: classifier.fit(Z, y)  # noqa: E731
    fit()
    took = seconds(fit, 3)
    note("logistic fit, r = 0.05", f"{took:.3f} s, {classifier.n_iter_} passes")
    note("its peak of extra memory", f"{100 * peak(fit, size):.1f} % of the input")
    predict = lambda: classifier.predict_proba(Z)  # noqa: E731
    predict()
    note("predict_proba", f"{1e3 * seconds(predict, 3):.1f} ms")
    passes(Z, y)


@part
def single_precision(n: int, columns: int):
    """Rows in float32"""
    import torch

    Z, eta, noise = problem(n, columns, torch.float32)
    size = Z.numel() * Z.element_size()
    y = eta + noise
    model = FairRidgeRegressor(0.05, sensitive=SENSITIVE)
    path = lambda: model.path(Z, y)  # noqa: E731
    path()
    took = seconds(path, 3)
    note(f"101-point gaussian path, {n:,} rows in float32", f"{1e3 * took:.1f} ms")
    note("its peak of extra memory", f"{100 * peak(path, size):.1f} % of the input")
    labels = (y > 0).to(torch.float64)
    classifier = FairRidgeClassifier(0.05, sensitive=SENSITIVE)
    fit = lambda: classifier.fit(Z, labels)  # noqa: E731
    fit()
    took = seconds(fit, 2)
    note(f"logistic fit, {n:,} rows in float32", f"{took:.3f} s, {classifier.n_iter_} passes")


@part
def standard_errors(n: int, columns: int):
    """Standard errors"""
    import torch

    Z, eta, noise = problem(n, columns, torch.float64)
    y = (eta + noise > 0).to(torch.float64)
    model = FairRidgeClassifier(0.05, sensitive=SENSITIVE).fit(Z, y)
    start = time.perf_counter()
    model.inference(Z, y)
    note(f"inference, logistic, {n:,} rows", f"{time.perf_counter() - start:.2f} s")


def machine() -> str:
    import sklearn
    import torch

    return (
        f"{torch.cuda.get_device_name()}, {platform.machine()}, Python "
        f"{platform.python_version()}, torch {torch.__version__}, numpy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--columns", type=int, default=105)
    parser.add_argument("--compared", type=float, default=1e6, help="rows compared with NumPy")
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    n, k = int(arguments.rows), arguments.columns
    title = machine()
    print(title, flush=True)
    import torch

    for call, size in (
        (large, n),
        (agreement, int(arguments.compared)),
        (single_precision, n),
        (standard_errors, n // 50),
    ):
        call(size, k)
        torch.cuda.empty_cache()
    lines = [title, "", "| | |", "|---|---:|", *(f"| {a} | {b} |" for a, b in TABLE)]
    text = "\n".join(lines)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
