from shop import Stock
from shop.stock import Item


class Ledger:
    def __init__(self):
        self.cost = 0

    def add(self, amount: int):
        self.cost += amount


def bill(stock: Stock, names: list[str]) -> Ledger:
    ledger = Ledger()
    for name in names:
        found = stock.find(name)
        ledger.add(found.cost(count=2))
    return ledger


größe = Stock().add(Item("Käse 🧀", 3)).add(Item(name="Brot", price=2), replace=True)
print("🧀", bill(größe, names=["Brot"]).cost)
