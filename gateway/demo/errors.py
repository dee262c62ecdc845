"""What can keep the demonstration from running.

::

    GatewayError
    ├── DemoFailed           demo_failed         a part of it did not start, or stopped
    └── DemoNotPossible      demo_not_possible   something it needs is not here (bad input)
"""

from gateway.errors import BadInput, GatewayError


class DemoFailed(GatewayError):
    """A process that it needs did not start, ended by itself, or does not answer."""

    code = "demo_failed"
    title = "The demonstration failed"


class DemoNotPossible(BadInput):
    """The shop, its models or a package is missing; the message says what to do."""

    code = "demo_not_possible"
    title = "The demonstration cannot run here"
