"""Who may do what: each duty under a login of its own."""
