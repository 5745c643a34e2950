use super::are;

#[test]
fn mistakes_in_python() {
    are(
        "shop/cart.py",
        r#""""Carts < 3."""
import logging
from a import b
__all__ = ["total"]
LIMIT: int = 10
RATE = 0.5


@cached(ttl=60)
def total(items: list[int], name="all") -> int:
    """Adds 1 + 2."""
    logging.info("adding %d", 1 + 2)
    print("x" + name)
    result = 0
    for item in items:
        if item is None or not item.ok:
            continue
        if item.price <= LIMIT and name not in item.tags:
            result += item.price * -1
            item.mark()
            break
    if not items:
        raise ValueError("no items: " + str(1 + 1))
    while True:
        break
    message = "%s has %d" % (name, 3)
    text = f"{result + 1} of" + message
    path = name + "/x"
    return result // 2


def is_free(cart):
    flag = True if cart.ready else False
    return cart.total == 0


class A(B):
    def __init__(self):
        super().__init__()
        self.names = []

    def first(self) -> str:
        return self.names[0]

    def other(self):
        return self.names


if __name__ == "__main__":
    total([1])
"#,
        &[
            "5 `10` became `11`",
            "6 `0.5` became `1.5`",
            r#"10 `"all"` became `""`"#,
            "14 `0` became `1`",
            "16 `item is None or not item.ok` became `False`",
            "16 `item is None or not item.ok` became `True`",
            "16 `is` became `is not`",
            "16 `or` became `and`",
            "16 `not` was removed",
            "17 `continue` became `break`",
            "18 `item.price <= LIMIT and name not in item…` became `False`",
            "18 `item.price <= LIMIT and name not in item…` became `True`",
            "18 `<=` became `<`",
            "18 `<=` became `>`",
            "18 `and` became `or`",
            "18 `not in` became `in`",
            "19 `+=` became `-=`",
            "19 `*` became `/`",
            "19 `-` was removed",
            "19 `1` became `2`",
            "20 `item.mark()` was removed",
            "21 `break` became `continue`",
            "22 `not` was removed",
            "22 `not items` became `False`",
            "22 `not items` became `True`",
            "26 `3` became `4`",
            r#"28 `"/x"` became `""`"#,
            "29 the returned `result // 2` became `0`",
            "29 `//` became `*`",
            "29 `2` became `3`",
            "33 `True` became `False`",
            "33 `cart.ready` became `False`",
            "33 `cart.ready` became `True`",
            "33 `cart.ready` became `not (cart.ready)`",
            "33 `False` became `True`",
            "34 the returned `cart.total == 0` became `False`",
            "34 the returned `cart.total == 0` became `True`",
            "34 `==` became `!=`",
            "34 `0` became `1`",
            "39 `super().__init__()` was removed",
            "40 `self.names = []` was removed",
            r#"43 the returned `self.names[0]` became `""`"#,
            "43 `0` became `1`",
            "46 the returned `self.names` became `None`",
        ],
    );
}
