"""A model server that says what a script says, over the protocol of Chat Completions: for examples without a provider."""
