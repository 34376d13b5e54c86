"""Spaced review: what was met in reading and what failed, asked again just before it would be forgotten."""
