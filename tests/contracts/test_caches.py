"""What the library keeps between calls: nothing of its users' data."""

import importlib
import inspect
import pkgutil

import fairridge

# Threads by their number; data sets of the paper by their names.
THREADS = {"fairridge.engines.blocks._pool"}
PAPER = "fairridge.experiments."


def modules():
    for found in pkgutil.walk_packages(fairridge.__path__, "fairridge."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def test_no_cached_function_takes_data():
    cached = {
        f"{function.__module__}.{function.__name__}": function
        for module in modules()
        for function in vars(module).values()
        if hasattr(function, "cache_info")
    }
    taking = {name for name, f in cached.items() if inspect.signature(f).parameters}
    assert {name for name in taking if not name.startswith(PAPER)} == THREADS
