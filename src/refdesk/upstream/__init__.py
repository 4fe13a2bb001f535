"""
Our own HTTP/1.1 client, for calls to models: pooled, streamed, cancelled, verified.

    client = UpstreamClient()
    origin, prefix = Origin.parse("https://api.example.com/v1")
    head = b"POST %b/messages HTTP/1.1\\r\\nhost: api.example.com\\r\\n" % prefix.encode()
    async for chunk in await client.send(origin, head, body):
        ...

It sends bytes that are given and reads what comes back; it follows no redirect, keeps no cookie,
decodes no content encoding.
"""

from refdesk.upstream.client import UpstreamClient
from refdesk.upstream.origin import Origin
from refdesk.upstream.reply import Reply

__all__ = ["Origin", "Reply", "UpstreamClient"]
