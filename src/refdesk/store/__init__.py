"""
What outlives a request: the log, search records, the ledger, settings and client keys.

SQLite by default, PostgreSQL where several replicas share it; both hold the same tables.
"""

from refdesk.store.database import Store, lock_server
from refdesk.store.keyring import KeyRing
from refdesk.store.keys import ClientKey
from refdesk.store.ledger import LedgerEntry, LedgerRow, Usage
from refdesk.store.locks import ServerLock
from refdesk.store.requests import LoggedRequest, RequestRecord
from refdesk.store.sealing import Sealer, StoreKey
from refdesk.store.searches import Asker, SearchItem, SearchRecord, numbered
from refdesk.store.settings import Setting

__all__ = [
    "Asker",
    "ClientKey",
    "KeyRing",
    "LedgerEntry",
    "LedgerRow",
    "LoggedRequest",
    "RequestRecord",
    "Sealer",
    "SearchItem",
    "SearchRecord",
    "ServerLock",
    "Setting",
    "Store",
    "StoreKey",
    "Usage",
    "lock_server",
    "numbered",
]
