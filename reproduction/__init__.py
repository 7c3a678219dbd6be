"""The paper, reproduced: ``python -m reproduction all --out DIR``, from a clone."""
