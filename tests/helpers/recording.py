"""A mixin of learners under test that keeps the inputs of their losses."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class RecordsBatches:
    """Stands before a learner among the bases of a class, and calls its loss."""

    batches: list = field(default_factory=list)
    """Log-probabilities and batch of each microbatch, in the order of training."""

    def loss(self, log_prob, batch):
        self.batches.append((log_prob.detach(), batch))
        return super().loss(log_prob, batch)
