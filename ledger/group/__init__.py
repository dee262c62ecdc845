"""Group commit: appends of many streams that gather while the last commit is under way go out as one transaction."""
