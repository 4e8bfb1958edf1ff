"""Doors: no mathematics here."""
