"""What each tool takes. Unknown names, missing ones and wrong types are refused; nothing is coerced."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

OrderId = Annotated[str, StringConstraints(pattern=r"^W[0-9]{3}$")]
ProductId = Annotated[str, StringConstraints(pattern=r"^P[0-9]{2}$")]
CustomerId = Annotated[str, StringConstraints(pattern=r"^C[0-9]{2}$")]
Line = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Code = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3,12}[0-9]{2}$")]


class ToolArguments(BaseModel):
    """The arguments object of one tool."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class GetOrder(ToolArguments):
    order_id: OrderId


class GetProduct(ToolArguments):
    product_id: ProductId


class GetCustomer(ToolArguments):
    customer_id: CustomerId


class FindCustomer(ToolArguments):
    name: Line


class GetCoupon(ToolArguments):
    code: Code


class SetAddress(ToolArguments):
    order_id: OrderId
    address: Line


class CancelOrder(ToolArguments):
    order_id: OrderId
    reason: Line


class ExchangeItem(ToolArguments):
    order_id: OrderId
    product_id: ProductId
    new_product_id: ProductId


class RefundOrder(ToolArguments):
    order_id: OrderId
    amount: int = Field(ge=1, le=100_000)


class SendMessage(ToolArguments):
    customer_id: CustomerId
    text: Line


class CreateCoupon(ToolArguments):
    code: Code
    percent: int = Field(ge=1, le=90)


class DeleteCoupon(ToolArguments):
    code: Code


ARGUMENTS: dict[str, type[ToolArguments]] = {
    "get_order": GetOrder,
    "get_product": GetProduct,
    "get_customer": GetCustomer,
    "find_customer": FindCustomer,
    "get_coupon": GetCoupon,
    "set_address": SetAddress,
    "cancel_order": CancelOrder,
    "exchange_item": ExchangeItem,
    "refund_order": RefundOrder,
    "send_message": SendMessage,
    "create_coupon": CreateCoupon,
    "delete_coupon": DeleteCoupon,
}
"""Every tool of the shop and the shape of its arguments."""
