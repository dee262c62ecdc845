"""Every table of the ledger on one metadata: importing this module is what makes it complete."""

from ledger import incarnation as _incarnation
from ledger.access import schema as _access
from ledger.braking import schema as _braking
from ledger.log import schema as _log
from ledger.schema import metadata

__all__ = ["metadata"]

_ = (_access, _braking, _incarnation, _log)
