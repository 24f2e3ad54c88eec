"""What a model remembers of the tokens it has read: one module a kind of layer, and `TokenCache` over all of them."""

from mtplx_engine.cache.recurrent import DeltaSteps, RecurrentState, delta_rule
from mtplx_engine.cache.token_cache import TokenCache

__all__ = ["DeltaSteps", "RecurrentState", "TokenCache", "delta_rule"]
