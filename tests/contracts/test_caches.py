"""What the library keeps between calls: nothing of its users' data."""

import importlib
import inspect
import pkgutil

import fairridge

# Threads by their number, special functions by the name of a library, GPUs by theirs, and random
# numbers by how many there are.
NAMED = {
    "fairridge.engines.blocks._pool",
    "fairridge._arrays.special",
    "fairridge.engines.device_products._multiplies",
    "fairridge.engines.device_products._properties",
    "fairridge.inference.scores._random_numbers",
}
# A program, and kernels, which need Triton.
NOT_IMPORTED = ("__main__", "triton_kernels")


def modules():
    for found in pkgutil.walk_packages(fairridge.__path__, "fairridge."):
        if not found.name.endswith(NOT_IMPORTED):
            yield importlib.import_module(found.name)


def test_no_cached_function_takes_data():
    cached = {
        f"{function.__module__}.{function.__name__}": function
        for module in modules()
        for function in vars(module).values()
        if hasattr(function, "cache_info")
    }
    taking = {name for name, f in cached.items() if inspect.signature(f).parameters}
    assert taking == NAMED
