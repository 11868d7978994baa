"""A stock of goods, with names that only types tell apart."""


class Item:
    def __init__(self, name: str, price: int):
        self.name = name
        self.price = price

    def cost(self, count: int) -> int:
        return self.price * count


class Stock:
    def __init__(self):
        self.items: dict[str, Item] = {}

    def add(self, item: Item, *, replace: bool = False) -> "Stock":
        if replace or item.name not in self.items:
            self.items[item.name] = item
        return self

    def find(self, name: str) -> Item:
        return self.items[name]
