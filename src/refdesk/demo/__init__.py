"""
The demo: a real model, a real search, one real question, and every step shown.

It is Refdesk as anybody would use it: the server that `refdesk serve` starts, and in front of it
the official client.  Nothing here is known to the gateway.
"""
