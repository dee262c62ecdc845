"""The JSON of the HTTP interface as types: what is asked, what is answered (interface.md, "HTTP")."""
