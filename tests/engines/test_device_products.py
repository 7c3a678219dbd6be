"""Kernels for torch on a GPU multiply as float64 arrays do."""

import numpy as np
import pytest

from fairridge.engines import device_products
from fairridge.engines.device_products import products, times


def test_arrays_without_kernels_are_left_to_their_library():
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    rows = xp.asarray(np.ones((50_000, 100)))
    assert times(rows, None, xp.asarray(np.ones((100, 1)))) is None
    assert products(rows, None, xp.asarray(np.ones((50_000, 1)))) is None


@pytest.fixture
def torch(monkeypatch):
    found = pytest.importorskip("torch", reason="torch is not installed")
    if not found.cuda.is_available():
        pytest.skip("there is no GPU")
    if found.cuda.get_device_capability() not in device_products.FLOAT64_CAPABILITIES:
        pytest.skip("this GPU has no units that multiply float64")
    pytest.importorskip("triton", minversion="3.6", reason="Triton 3.6 is not installed")
    # Kernels that do not compile are no reason to skip their tests.
    assert device_products._multiplies(found.device("cuda", 0))
    few = device_products.LIBRARY_LIMITS[4][1]
    monkeypatch.setitem(device_products.LIBRARY_LIMITS, 8, (64, few))
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "k"), [(300_001, 17), (70_001, 65), (50_003, 105), (17_000, 256)])
def test_kernels_multiply_as_float64_arrays_do(torch, n, k, dtype):
    torch.manual_seed(0)
    wide = torch.randn(n + 1, k + 5, dtype=getattr(torch, dtype), device="cuda")
    like = {"dtype": torch.float64, "device": "cuda"}
    if dtype == "float64" and k <= device_products.LIBRARY_LIMITS[8][0]:
        assert times(wide[:n, :k], None, torch.ones(k, 1, **like)) is None
        return
    # Rows as they are, and as parts of others, which begin anywhere.
    for rows in (wide[:n, :k].contiguous(), wide[1:, 3 : 3 + k]):
        for shift in (None, 1.0 + torch.randn(k, **like)):
            moved = rows.to(torch.float64) - (0.0 if shift is None else shift)
            for m in (1, 3, 8):
                b, down, across = (torch.randn(*s, **like) for s in ((k, m), (n, m), (m, n)))
                torch.testing.assert_close(times(rows, shift, b), moved @ b, rtol=0, atol=1e-12)
                for vectors in (down, across.T):
                    found, known = products(rows, shift, vectors), vectors.T @ moved
                    torch.testing.assert_close(found, known, rtol=0, atol=1e-10)
            again = torch.randn(n, 2, **like)
            assert torch.equal(products(rows, shift, again), products(rows, shift, again))


@pytest.mark.parametrize("shape", [(100, 105), (50_000, 300), (600_000, 8)])
def test_small_narrow_and_very_wide_rows_have_no_kernel(torch, shape):
    rows = torch.ones(shape, dtype=torch.float32, device="cuda")
    coefficients = torch.ones(shape[1], 1, dtype=torch.float64, device="cuda")
    assert times(rows, None, coefficients) is None


def test_rows_are_left_to_the_library_where_kernels_do_not_compile(torch, monkeypatch):
    def fail():
        raise RuntimeError("Failed to find C compiler.")

    monkeypatch.setattr(device_products, "_kernels", fail)
    device_products._multiplies.cache_clear()
    rows = torch.ones((50_000, 105), dtype=torch.float32, device="cuda")
    assert times(rows, None, torch.ones(105, 1, dtype=torch.float64, device="cuda")) is None
    device_products._multiplies.cache_clear()
