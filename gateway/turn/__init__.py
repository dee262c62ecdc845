"""Decisions about one stream: from its state and a command to the events that follow. Pure; nothing waits or sends here."""
