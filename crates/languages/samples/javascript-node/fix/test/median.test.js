const assert = require("node:assert");
const test = require("node:test");

const { median } = require("../median.js");

test("one", () => {
  assert.strictEqual(median([7]), 7);
});

test("odd", () => {
  assert.strictEqual(median([1, 2, 9]), 2);
});

test("unsorted", () => {
  assert.strictEqual(median([9, 1, 2]), 2);
});

test("even", () => {
  assert.strictEqual(median([1, 2, 3, 4]), 2.5);
});
