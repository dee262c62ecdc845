"""Who calls: a tenant and the roles held there (interface.md, "Auth")."""

from dataclasses import dataclass
from enum import StrEnum

from gateway.errors import Forbidden


class Role(StrEnum):
    """What a key may do."""

    DECODER = "decoder"
    RUNTIME = "runtime"
    AUDITOR = "auditor"
    RECONCILER = "reconciler"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of a service: everything it reads or writes lies within ``tenant``."""

    tenant: str
    roles: frozenset[Role]
    name: str = "anonymous"

    def require(self, *roles: Role) -> None:
        """Raise ``Forbidden`` unless the caller holds one of ``roles`` (``admin`` holds them all)."""
        if Role.ADMIN in self.roles or self.roles & set(roles):
            return
        wanted = " or ".join(role.value for role in roles)
        raise Forbidden(f"this call needs the role {wanted}", needed=[role.value for role in roles])


def everyone(tenant: str = "default") -> Principal:
    """The caller of a gateway that runs open: every role in one tenant."""
    return Principal(tenant, frozenset(Role), "open")
