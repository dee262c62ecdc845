"""Acceptance rules: pure mathematics over scores, one module a rule."""
