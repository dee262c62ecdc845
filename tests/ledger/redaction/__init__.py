"""Redaction: what goes, what stays, who may, and that every proof stays valid."""
