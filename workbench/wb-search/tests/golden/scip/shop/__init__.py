from .stock import Stock

__all__ = ["Stock"]
