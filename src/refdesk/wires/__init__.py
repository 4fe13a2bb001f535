"""
The dialects that clients and upstreams speak: what is asked, and how an answer is dressed.

Nothing here does I/O, knows the time, or knows who serves a model.  A body is the client's
document: it is edited, never re-modelled.
"""
