"""What the shop says when it will not do as asked.

::

    RefusalError               code, HTTP status
        unknown_tool              404    no tool of that name
        bad_json                  400    the body is not JSON
        bad_arguments             422    the arguments do not fit the tool
        not_found                 404    no such order, product, customer or coupon
        wrong_state               409    the thing is not in a state that allows this
        already_exists            409    the coupon is there already
        over_refund               409    more than is left to give back
        out_of_stock              409    the new product is gone
        idempotency_key_reused    409    the same Idempotency-Key came with other arguments
"""

from dataclasses import dataclass

STATUS = {
    "unknown_tool": 404,
    "bad_json": 400,
    "bad_arguments": 422,
    "not_found": 404,
    "wrong_state": 409,
    "already_exists": 409,
    "over_refund": 409,
    "out_of_stock": 409,
    "idempotency_key_reused": 409,
}


@dataclass
class RefusalError(Exception):
    """A call that had no effect. ``code`` is one of ``STATUS``; ``detail`` is a sentence for a person."""

    code: str
    detail: str

    @property
    def status(self) -> int:
        """The HTTP status that carries this refusal."""
        return STATUS[self.code]
