"""The doctor: whether a gateway, its database and its effect table are as they should be. It changes nothing."""
