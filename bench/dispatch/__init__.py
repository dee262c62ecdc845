"""How fast released calls are sent: beside a commit, beside an HTTP upstream, beside other engines."""
