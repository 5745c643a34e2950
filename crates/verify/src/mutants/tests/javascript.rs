use super::{all, are};

#[test]
fn mistakes_in_javascript() {
    are(
        "src/cart.js",
        r#"'use strict';
const fs = require('fs');
import { a } from './a.js';
export * from './b.js';

export function total(items, options = {}) {
  console.log('adding', items.length + 1);
  let sum = 0;
  for (let i = 0; i < items.length; i++) {
    if (items[i].skip) continue;
    switch (items[i].kind) { case 'gift': break; default: sum += items[i].price; }
  }
  const rate = options.rate ?? 1.5;
  if (sum === 0 || !options.round) {
    throw new Error('nothing' + 1);
  }
  if (typeof rate !== 'number') notify(rate);
  const label = `sum ${sum + 1}` + 'x';
  return sum * rate;
}

export const isFree = (cart) => cart.total <= 0;
export const names = (all) => all.map((one) => one.name);
const limit = { most: 10, name: '', on: true };
"#,
        &[
            "8 `0` became `1`",
            "9 `0` became `1`",
            "9 `<` became `<=`",
            "9 `<` became `>=`",
            "10 `items[i].skip` became `!(items[i].skip)`",
            "10 `items[i].skip` became `false`",
            "10 `items[i].skip` became `true`",
            "10 `continue` became `break`",
            "11 `'gift'` became `''`",
            "11 `+=` became `-=`",
            "13 `??` became `&&`",
            "13 `1.5` became `2.5`",
            "14 `sum === 0 || !options.round` became `false`",
            "14 `sum === 0 || !options.round` became `true`",
            "14 `===` became `!==`",
            "14 `0` became `1`",
            "14 `||` became `&&`",
            "14 `!` was removed",
            "17 `typeof rate !== 'number'` became `false`",
            "17 `typeof rate !== 'number'` became `true`",
            "17 `!==` became `===`",
            "17 `notify(rate);` was removed",
            "18 `'x'` became `''`",
            "19 the returned `sum * rate` became `undefined`",
            "19 `*` became `/`",
            "22 the returned `cart.total <= 0` became `false`",
            "22 the returned `cart.total <= 0` became `true`",
            "22 `<=` became `<`",
            "22 `<=` became `>`",
            "22 `0` became `1`",
            "23 the returned `all.map((one) => one.name)` became `undefined`",
            "23 the returned `one.name` became `undefined`",
            "24 `10` became `11`",
            "24 `''` became `'x'`",
            "24 `true` became `false`",
        ],
    );
}

#[test]
fn mistakes_in_typescript() {
    are(
        "src/cart.ts",
        r#"import type { A } from './a';
type Kind = 'a' | 'b';
interface B { kind: 'x'; size: 3 }
enum Size { Small = 1 }
export class Cart {
  private items: Array<1 | 2> = [];
  @Input('name') name: string = 'none';
  count(): number {
    return this.items.length;
  }
  label(kind: Kind): string | null {
    const one = kind as 'a';
    return kind === 'a' ? this.name : null;
  }
  all() {
    return this.items;
  }
  async save(): Promise<void> {
    await this.store.put(this.items);
  }
}
"#,
        &[
            "7 `'none'` became `''`",
            "9 the returned `this.items.length` became `0`",
            "13 `kind === 'a'` became `false`",
            "13 `kind === 'a'` became `true`",
            "13 the returned `kind === 'a' ? this.name : null` became `null`",
            "13 `===` became `!==`",
            "19 `await this.store.put(this.items);` was removed",
        ],
    );
    assert!(all("src/cart.d.ts", "export const a = 1 + 2;").is_empty(), "declarations run nothing");
}

#[test]
fn mistakes_in_tsx() {
    are(
        "src/Cart.tsx",
        r#"export function Cart({ items }: { items: string[] }) {
  if (items.length > 3) {
    return null;
  }
  return <ul className="cart" tabIndex={1}>{items.length - 1} left</ul>;
}
"#,
        &[
            "2 `items.length > 3` became `false`",
            "2 `items.length > 3` became `true`",
            "2 `>` became `<=`",
            "2 `>` became `>=`",
            "2 `3` became `4`",
            "5 `-` became `+`",
            "5 `1` became `2`",
        ],
    );
}

#[test]
fn a_field_that_a_function_sets_is_left_as_it_was() {
    are(
        "src/a.js",
        "module.exports = A;\nclass A { constructor(b) { this.b = b; } c(d) { this.b = d; } }",
        &["2 `this.b = d;` was removed"],
    );
}
