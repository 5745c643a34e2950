use super::are;

#[test]
fn mistakes_in_java() {
    are(
        "src/main/java/shop/Cart.java",
        r#"package shop;

import java.util.List;

@Table(name = "carts", size = 3)
public class Cart {
    private static final int LIMIT = 0x7f;
    private final String name = "cart";
    private int count = 1;

    @Override
    public boolean isFull(List<Integer> items) {
        log.info("asked " + 1);
        System.out.println("a" + 1);
        for (int i = 0; i < items.size(); i++) {
            if (items.get(i) == null) {
                continue;
            }
            count += items.get(i) * 2;
        }
        while (true) {
            if (count > LIMIT) break;
            count++;
        }
        switch (count) {
            case 1: break;
            default: note(count);
        }
        return !items.isEmpty() && count >= LIMIT;
    }

    String label(String prefix, char c) {
        if (prefix.isEmpty()) {
            throw new IllegalStateException("empty" + 1);
        }
        String text = prefix + name;
        char other = 'x';
        return text + c;
    }

    Cart copy() {
        items.clear();
        return new Cart();
    }

    long half(long value) {
        return -value / 2L;
    }
}
"#,
        &[
            "7 `0x7f` became `0x7e`",
            r#"8 `"cart"` became `""`"#,
            "9 `1` became `2`",
            "15 `0` became `1`",
            "15 `<` became `<=`",
            "15 `<` became `>=`",
            "16 `items.get(i) == null` became `false`",
            "16 `items.get(i) == null` became `true`",
            "16 `==` became `!=`",
            "17 `continue` became `break`",
            "19 `+=` became `-=`",
            "19 `*` became `/`",
            "19 `2` became `3`",
            "22 `count > LIMIT` became `false`",
            "22 `count > LIMIT` became `true`",
            "22 `>` became `<=`",
            "22 `>` became `>=`",
            "23 `++` became `--`",
            "27 `note(count);` was removed",
            "29 `!` was removed",
            "29 the returned `!items.isEmpty() && count >= LIMIT` became `false`",
            "29 the returned `!items.isEmpty() && count >= LIMIT` became `true`",
            "29 `&&` became `||`",
            "29 `>=` became `<`",
            "29 `>=` became `>`",
            "33 `prefix.isEmpty()` became `!(prefix.isEmpty())`",
            "33 `prefix.isEmpty()` became `false`",
            "33 `prefix.isEmpty()` became `true`",
            "37 `'x'` became `'a'`",
            r#"38 the returned `text + c` became `""`"#,
            "42 `items.clear();` was removed",
            "43 the returned `new Cart()` became `null`",
            "47 `-` was removed",
            "47 the returned `-value / 2L` became `0`",
            "47 `/` became `*`",
            "47 `2L` became `3L`",
        ],
    );
}

#[test]
fn what_instanceof_names_stays_known() {
    are(
        "A.java",
        "class A { int b(Object c) { if (!(c instanceof Integer i) || i == 1) return 2; return i; } }",
        &["1 `==` became `!=`", "1 `1` became `2`", "1 `2` became `3`", "1 the returned `i` became `0`"],
    );
}

#[test]
fn a_field_that_a_method_sets_is_left_as_it_was_and_one_of_a_constructor_is_not() {
    are(
        "A.java",
        "class A { A(int b) { this.b = b; } A copy() { A clone = make(); clone.b = b; list = b; return clone; } }",
        &["1 `clone.b = b;` was removed", "1 the returned `clone` became `null`"],
    );
}
