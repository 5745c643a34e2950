/** The middle of the numbers, in the order of their size. */
function median(numbers) {
  if (numbers.length === 0) {
    throw new RangeError("there is no median of no numbers");
  }
  const ordered = [...numbers].sort((a, b) => a - b);
  return ordered[Math.floor(ordered.length / 2)];
}

module.exports = { median };
