/** The middle of the numbers, in the order of their size. */
function median(numbers) {
  const ordered = [...numbers].sort((a, b) => a - b);
  return ordered[Math.floor(ordered.length / 2)];
}

module.exports = { median };
