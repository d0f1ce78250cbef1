"""A module that forks of a warm process import before they get their task."""
