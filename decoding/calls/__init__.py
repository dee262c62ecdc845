"""Call blocks: where a token stream spells a tool call. Pure and free of torch."""
