"""A small web shop: a tool server with a process and database of its own, and models that speak its tools.

Nothing here imports the product: the shop is what any third party's tool server would be.
"""
