import pytest
from pydantic import ValidationError

from effects.errors import EffectTableRefused
from effects.outbound import Outbound
from effects.table import EffectTable
from effects.upstream import origin

NOTHING = Outbound()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "::1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "fd12::1",
        "8.8.8.8",
        "2001:4860:4860::8888",
        "::ffff:10.0.0.1",
        "::ffff:0:10.0.0.1",
    ],
)
def test_tools_live_on_loopback_in_private_networks_and_outside(address: str) -> None:
    assert NOTHING.refuses("tool.example", address) is None


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("169.254.169.254", "metadata"),
        ("169.254.1.1", "link_local"),
        ("fe80::1", "link_local"),
        ("fe80::1%eth0", "link_local"),
        ("fd00:ec2::254", "metadata"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::ffff:169.254.169.254", "metadata"),
        ("::ffff:0.0.0.0", "unspecified"),
        ("::169.254.169.254", "metadata"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        ("::ffff:0:a9fe:a9fe", "metadata"),
        ("::ffff:0:169.254.1.1", "link_local"),
        ("2002:a9fe:a9fe::1", "metadata"),
        ("no address", "no_address"),
        ("2852039166", "no_address"),
    ],
)
def test_what_only_an_insider_should_reach_is_refused(address: str, why: str) -> None:
    assert NOTHING.refuses("tool.example", address) == why


def test_a_url_spelled_the_metadata_address_as_an_ipv4_translated_one() -> None:
    assert NOTHING.refuses_url("http://[::ffff:0:a9fe:a9fe]/latest") == "metadata"


def test_names_of_metadata_are_refused_wherever_they_lead() -> None:
    assert NOTHING.refuses("Metadata.Google.Internal.", "10.0.0.1") == "metadata"
    assert (
        Outbound(allow=("metadata.google.internal",)).refuses("metadata.google.internal", "169.254.169.254")
        is None
    )


def test_an_operator_can_allow_a_host_an_address_or_a_network() -> None:
    for entry in ("169.254.7.7", "169.254.0.0/16", "printer.local"):
        allowing = Outbound(allow=(entry,))
        assert allowing.refuses("printer.local", "169.254.7.7") is None
        # What was not allowed is not.
        assert allowing.refuses("other.local", "fe80::1") == "link_local"
    assert Outbound(allow=("169.254.7.7",)).refuses("x", "169.254.7.8") == "link_local"


@pytest.mark.parametrize("entry", ["", "169.254.1.1/16", "http://x", "a b", "x/y", "0x7f.1", "*"])
def test_nothing_else_can_be_allowed(entry: str) -> None:
    with pytest.raises(ValidationError):
        Outbound(allow=(entry,))


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.0x1", "010.0.0.1"]
)
def test_addresses_in_disguise_are_no_hosts(host: str) -> None:
    with pytest.raises(ValueError, match="four decimal numbers"):
        origin(f"http://{host}/tool")
    assert origin("http://127.0.0.1/tool") == "http://127.0.0.1:80"
    assert origin("http://v1.example/tool") == "http://v1.example:80"


def test_a_table_says_at_once_where_nothing_would_be_sent() -> None:
    table = "tools: {t: {effect: WRITE, upstream: {http: 'http://169.254.169.254/latest'}}}"
    with pytest.raises(EffectTableRefused, match=r"tools\.t\.upstream\.http: metadata addresses"):
        EffectTable.parse(table)
    allowed = EffectTable.parse(table + "\noutbound: {allow: ['169.254.169.254']}")
    assert EffectTable.from_document(allowed.document()) == allowed
