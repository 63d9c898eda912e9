"""Factories, good and bad."""
import torch
def good(): return torch.nn.Linear(8, 4), torch.randn(2, 8)
def keywords(): return torch.nn.Linear(8, 4), {"input": torch.randn(2, 8)}
def several(): return torch.nn.Bilinear(8, 4, 2), torch.randn(3, 8), torch.randn(3, 4)
def several_by_name(): return torch.nn.functional.linear, torch.randn(3, 8), torch.randn(4, 8), {"bias": torch.randn(4)}
def no_name(): return torch.nn.Linear(8, 4), {0: torch.randn(2, 8)}
def nothing(): return None
def numbers(): return 1, 2
def raises(): raise ValueError("no such size")
def bad_shape(): return torch.nn.Linear(8, 4), torch.randn(2, 9)
constant = 3
def leaves(): raise SystemExit(0)
