"""How long turns take: reads that go early, beside holding them and beside waiting for the whole message."""
