"""The paper, reproduced: ``python -m fairridge.experiments all --out DIR``."""
