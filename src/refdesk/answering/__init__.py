"""One question answered with sources: searched, put to a model, citations found as it writes."""

from refdesk.answering.turn import Answered, AnswerFailed, Asking, Turn

__all__ = ["AnswerFailed", "Answered", "Asking", "Turn"]
