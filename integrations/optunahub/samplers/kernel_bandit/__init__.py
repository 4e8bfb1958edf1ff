"""Samplers of kernelbandits, for OptunaHub."""

from kernelbandits.optuna import KernelBanditSampler, PoolSampler

__all__ = ["KernelBanditSampler", "PoolSampler"]
