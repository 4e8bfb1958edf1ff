"""What the tests of the package have, for those of the benchmarks: places on both back ends."""

from conftest import database, postgres, where

__all__ = ["database", "postgres", "where"]
