"""Tests of the benchmarks: `make test-benchmarks`."""
