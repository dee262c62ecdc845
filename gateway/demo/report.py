"""The summary as people read it on a terminal."""

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from effects.wording import counted
from gateway.demo.summary import Summary


def report(summary: Summary) -> RenderableType:
    """Counts of tokens by drafter, then of blocks, early reads and writes, then the verdict."""
    head = (
        f"{counted(summary.turns, 'turn')}, {counted(summary.messages, 'message')}, {summary.seconds:.0f} s"
    )
    parts: list[RenderableType] = [
        Rule(Text("summary", "bold"), align="left", style="bright_black"),
        Text(head),
        _tokens(summary),
        _counts(summary),
        _verdict(summary),
    ]
    unseen = summary.never_seen()
    if unseen:
        parts.append(Text(f"not seen this time: {', '.join(unseen)}", "yellow"))
    if summary.kept:
        assigned = " ".join(f"{name}={value}" for name, value in summary.kept.items() if name.isupper())
        look = f"kept; look at a turn: {assigned} commitgate streams show {summary.kept['key']}"
        # In one line, however long: it is there to be copied.
        parts.append(Text(look, no_wrap=True, overflow="ignore"))
    return Group(*parts)


def _tokens(summary: Summary) -> Table:
    table = Table("drafter", title="tokens", title_justify="left")
    names = ("drafted", "accepted", "rejected", "unreached")
    for name in names:
        table.add_column(name, justify="right")
    for drafter, tokens in summary.tokens.items():
        told = tokens.to_json()
        table.add_row(drafter, *(str(told[name]) for name in names))
    return table


def _counts(summary: Summary) -> Table:
    told = summary.to_json()
    blocks, reads, writes = told["blocks"], told["early_reads"], told["writes"]
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right")
    table.add_row("blocks", f"{blocks['cleared']} cleared, {blocks['voided']} voided")
    table.add_row(
        "early reads",
        f"{reads['used']} used, {reads['wasted']} wasted, {reads['stale']} stale and sent again",
    )
    table.add_row(
        "writes",
        f"{writes['sent']} sent, {writes['exactly_once']} of them exactly once in the shop's own log"
        f" ({writes['refused_by_shop']} refused by the shop)",
    )
    table.add_row("refused", f"{counted(summary.refused, 'call')} by the gateway")
    if summary.evidence is not None:
        events, vouched = summary.evidence.events, summary.evidence.vouched
        table.add_row(
            "ledger",
            f"{counted(events, 'event')} sealed, {vouched} of them verified against signed checkpoints",
        )
    return table


def _verdict(summary: Summary) -> Text:
    if not summary.anomalies:
        return Text("anomalies 0", "bold green")
    kinds = [f"{count} {kind}" for kind, count in sorted(summary.reconciled.findings.items())]
    if summary.evidence is not None and summary.evidence.fault is not None:
        kinds.append(f"the ledger does not verify: {summary.evidence.fault}")
    return Text("\n".join([f"anomalies {summary.anomalies}", *kinds, *summary.log.mismatches]), "bold red")
