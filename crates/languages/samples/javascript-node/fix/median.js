/** The middle of the numbers, in the order of their size; of an even number of them, the mean of the middle two. */
function median(numbers) {
  const ordered = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(ordered.length / 2);
  if (ordered.length % 2 === 0) {
    return (ordered[middle - 1] + ordered[middle]) / 2;
  }
  return ordered[middle];
}

module.exports = { median };
