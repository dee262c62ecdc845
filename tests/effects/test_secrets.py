import pytest

from effects.errors import EffectTableRefused, LiteralSecretRefused
from effects.secrets import Reference
from effects.table import EffectTable

SECRET = "s3cr3t-value"


def table(headers: str, where: str = "tool") -> str:
    if where == "tool":
        return (
            f"tools: {{t: {{effect: WRITE, upstream: {{http: 'http://127.0.0.1/t', headers: {headers}}}}}}}"
        )
    return f"tools: {{}}\nservers: {{s: {{{where}: {headers}}}}}"


def test_a_reference_is_kept_as_a_reference() -> None:
    read = EffectTable.parse(
        table(
            "{Authorization: {env: TOKEN, prefix: 'Bearer '}, X-Key: {file: /run/secrets/k}, X-Shop: north}"
        )
    )
    assert EffectTable.from_document(read.document()) == read
    assert read.tools["t"].upstream.headers == {
        "Authorization": Reference(env="TOKEN", prefix="Bearer "),
        "X-Key": Reference(file="/run/secrets/k"),
        "X-Shop": "north",
    }


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "authorization",
        "Cookie",
        "X-Api-Key",
        "apikey",
        "X-Auth-Token",
        "X-Secret",
        "Private-Token",
        "X-Key",
    ],
)
def test_a_secret_does_not_stand_in_the_table(name: str) -> None:
    with pytest.raises(LiteralSecretRefused, match=r"tools\.t\.upstream.*env: NAME") as refused:
        EffectTable.parse(table(f"{{{name}: '{SECRET}'}}"))
    assert refused.value.code == "literal_secret"
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("where", ["tools.t.upstream.http", "servers.s.url"])
@pytest.mark.parametrize(
    "query",
    [
        "accessKey=",
        "subscriptionKey=",
        "appkey=",
        "pwd=",
        "sig=",
        "a=1&jwt=",
        "api_key=",
        "a=1&Api-Key=",
        "access_token=",
        "a;key=",
        "api%5Fkey=",
        "client_secret=x&b=",
        "sessionid=",
    ],
)
def test_a_secret_does_not_stand_in_the_query_of_a_url(where: str, query: str) -> None:
    url = f"http://127.0.0.1/t?{query}{SECRET}"
    text = f"tools: {{t: {{effect: WRITE, upstream: {{http: '{url}'}}}}}}"
    if where.startswith("servers"):
        text = f"tools: {{}}\nservers: {{s: {{url: '{url}'}}}}"
    with pytest.raises(LiteralSecretRefused, match=r"header, by env: NAME") as refused:
        EffectTable.parse(text)
    assert (refused.value.path, refused.value.code) == (where, "literal_secret")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("query", ["token%3D", "token:", "%0d%0atoken%3d"])
def test_a_refusal_repeats_no_value_that_stands_in_a_name(query: str) -> None:
    with pytest.raises(LiteralSecretRefused) as refused:
        EffectTable.parse(
            f"tools: {{t: {{effect: WRITE, upstream: {{http: 'http://127.0.0.1/t?{query}{SECRET}'}}}}}}"
        )
    assert SECRET not in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "shop=north",
        "monkey=1",
        "q=token",
        "passenger=2&signal=on&compass=n",
        "keyboard=de&author=x",
        "a=api_key",
    ],
)
def test_other_queries_may_be(query: str) -> None:
    url = f"http://127.0.0.1/t?{query}"
    taken = EffectTable.parse(f"tools: {{t: {{effect: WRITE, upstream: {{http: '{url}'}}}}}}")
    assert taken.tools["t"].upstream.http == url


@pytest.mark.parametrize("user", [f"me:{SECRET}@", f"{SECRET}@", f":{SECRET}@", "@"])
def test_nobody_stands_before_the_host(user: str) -> None:
    for text in (
        f"tools: {{t: {{effect: WRITE, upstream: {{http: 'http://{user}127.0.0.1/t'}}}}}}",
        f"tools: {{}}\nservers: {{s: {{url: 'http://{user}127.0.0.1/mcp'}}}}",
    ):
        with pytest.raises(EffectTableRefused, match="neither a user name") as refused:
            EffectTable.parse(text)
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize("name", ["X-Shop", "X-Monkey", "Accept-Language", "X-Keyboard", "X-Author"])
def test_other_headers_may(name: str) -> None:
    taken = EffectTable.parse(table(f"{{{name}: de}}"))
    assert f"'{name}': 'de'" in str(taken.document())


@pytest.mark.parametrize(
    "headers",
    [
        "{Idempotency-Key: x}",
        "{commit-key: x}",
        "{Host: x}",
        "{Content-Length: '1'}",
        "{traceparent: x}",
        "{'a b': x}",
        "{X-A: 'ü'}",
        '{X-A: "a\\r\\nX-B: c"}',
        "{X-A: 1}",
        "{X-A: x, x-a: y}",
        "{Authorization: {}}",
        "{Authorization: {env: A, file: /b}}",
        "{Authorization: {file: relative}}",
        "{Authorization: {env: 'A-B'}}",
        "{Authorization: {env: A, prefix: 'hunter2hunter2hunter2 '}}",
    ],
)
def test_what_is_not_the_tables_to_set_is_refused(headers: str) -> None:
    with pytest.raises(EffectTableRefused):
        EffectTable.parse(table(headers))


def test_servers_have_headers_or_an_environment() -> None:
    EffectTable.parse(table("'http://127.0.0.1/mcp', headers: {Authorization: {env: T}}", "url"))
    EffectTable.parse(table("[run], env: {TOKEN: {env: T}, LANG: C}", "command"))
    for wrong in (
        table("[run], headers: {X-A: b}", "command"),
        table("'http://127.0.0.1/mcp', env: {A: b}", "url"),
        table("[run], env: {API_TOKEN: literal}", "command"),
        table("[run], env: {'A B': c}", "command"),
    ):
        with pytest.raises(EffectTableRefused):
            EffectTable.parse(wrong)
