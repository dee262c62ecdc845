"""Where requests may go: which addresses are refused although a tool's URL leads there.

Loopback and private addresses are allowed: that is where tools live. What only somebody on the inside should reach is not:
link-local addresses and the metadata services of clouds, which hand out credentials to whoever asks. A table can allow
some of it: ``outbound: {allow: [HOST or CIDR, ...]}``.

Pure: names are resolved elsewhere (``gateway.upstream.guarded``), and each address that comes of it is judged here. IANA
IPv4 and IPv6 special-purpose address registries; RFC 4291, 2765, 6052, 3056, 4380 for addresses within addresses.
"""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Address = IPv4Address | IPv6Address

METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)
"""Names under which clouds serve credentials."""

_METADATA = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",
            "169.254.170.2",
            "fd00:ec2::254",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
        ),
    )
)
_REFUSED: tuple[tuple[str, tuple[IPv4Network | IPv6Network, ...]], ...] = (
    ("unspecified", (ip_network("0.0.0.0/8"), ip_network("::/128"))),
    ("link_local", (ip_network("169.254.0.0/16"), ip_network("fe80::/10"))),
    ("multicast", (ip_network("224.0.0.0/4"), ip_network("ff00::/8"))),
    ("reserved", (ip_network("240.0.0.0/4"),)),
)
_NAT64, _COMPATIBLE = ip_network("64:ff9b::/96"), ip_network("::/96")
_TRANSLATED = ip_network("::ffff:0:0:0/96")
"""IPv4-translated (RFC 2765, section 2.1), which is not IPv4-mapped."""

_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,62}\.)*[a-z0-9_-]{1,63}\Z|[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\Z"
)
_NUMERIC = re.compile(r"0x[0-9a-f]*|[0-9]+")


def host_of(url: str) -> str:
    """The host of a URL, lower case, without brackets, and without the dot that may end a name."""
    return (urlsplit(url).hostname or "").rstrip(".")


def refuse_odd_number(host: str) -> None:
    """Raise ValueError for a host that systems read as an IPv4 address although it is none: ``2130706433``, ``0x7f.1``,
    ``010.0.0.1`` (WHATWG URL, "ends in a number").
    """
    if _NUMERIC.fullmatch(host.rstrip(".").rpartition(".")[2]) is None:
        return
    try:
        IPv4Address(host)
    except ValueError:
        raise ValueError("an address is written as four decimal numbers without leading zeros") from None


def _allowed(entry: str) -> str:
    lowered = entry.lower().rstrip(".")
    try:
        return str(ip_network(lowered))
    except ValueError:
        pass
    if "/" in lowered or ":" in lowered or _HOST.match(lowered) is None:
        raise ValueError("a host name, an address, or a network like 169.254.0.0/16 whose host bits are zero")
    refuse_odd_number(lowered)
    return lowered


class Outbound(BaseModel):
    """What an operator allows beyond the rule. ``allow``: host names, addresses, networks (CIDR)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow: tuple[Annotated[str, AfterValidator(_allowed)], ...] = Field(default=(), max_length=100)

    def refuses_name(self, host: str) -> str | None:
        """Why nothing is sent to a host of this name, wherever it leads; None: its addresses decide."""
        name = host.lower().rstrip(".")
        return "metadata" if name in METADATA_NAMES and name not in self.allow else None

    def refuses_url(self, url: str) -> str | None:
        """Why nothing is sent to a URL, as far as that can be said without resolving its host."""
        host = host_of(url)
        try:
            ip_address(host)
        except ValueError:
            return self.refuses_name(host)
        return self.refuses(host, host)

    def refuses(self, host: str, address: str) -> str | None:
        """Why nothing is sent to ``address``, to which ``host`` leads; None: it may be. An address within the address
        (IPv4-mapped, IPv4-translated, NAT64, 6to4, Teredo) is judged too. Text that is no address is refused.
        """
        named = self.refuses_name(host)
        if named is not None:
            return named
        if host.lower().rstrip(".") in self.allow:
            return None
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return "no_address"
        return next((why for one in (found, *_within(found)) if (why := self._judge(one)) is not None), None)

    def _judge(self, address: Address) -> str | None:
        if any(address in network for network in self._networks()):
            return None
        if address in _METADATA:
            return "metadata"
        for why, networks in _REFUSED:
            if any(address.version == network.version and address in network for network in networks):
                return why
        return None

    def _networks(self) -> list[IPv4Network | IPv6Network]:
        return [ip_network(entry) for entry in self.allow if "/" in entry]


NO_EXCEPTIONS = Outbound()
"""Of a table that allows nothing beyond the rule."""


def _within(address: Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to or holds."""
    if isinstance(address, IPv4Address):
        return []
    teredo = address.teredo
    found = [address.ipv4_mapped, address.sixtofour, *(teredo or ())]
    if address in _NAT64 or address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 1):
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [one for one in found if one is not None]
