"""Logits of a head, chunk by chunk: all chunks of a pass are one call of it."""


def record_logits(head, record):
    """Calls `record` with the logits of each chunk that a head computes."""
    forward = head.forward

    def recorded(hidden):
        record(logits := forward(hidden))
        return logits

    head.forward = recorded
