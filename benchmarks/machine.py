"""What the figures were measured on: versions, processor, date. No name of a host, no path."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import kernelbandits as kb

threads = import_module("threadpoolctl")
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "torch", "gpytorch", "botorch")


def facts() -> dict[str, Any]:
    """The circumstances of a run."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load average": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "blas (one thread)": blas(),
        "cc": compiler(),
        "python": platform.python_version(),
        "kernelbandits": kb.__version__,
        **{name: found(name) for name in PACKAGES},
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    match = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    return match[1].strip() if match else platform.processor() or "unknown"


def blas() -> str:
    """The linear algebra libraries in use, each held to one thread."""
    pools = [pool for pool in threads.threadpool_info() if pool["user_api"] == "blas"]
    return "; ".join(sorted({f"{pool['internal_api']} {pool['version']}" for pool in pools}))


def compiler() -> str:
    try:
        done = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "not installed"
    return done.stdout.splitlines()[0]


def found(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
