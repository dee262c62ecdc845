from tests.gateway.dispatcher.conftest import floor

__all__ = ["floor"]
