"""Drills: one folder each, data to the app, read from disk and never imported by it."""
