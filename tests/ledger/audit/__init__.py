"""What auditors see: every view of schema audit, held against what the product itself makes of the events."""
