/** The middle of the numbers. */
function median(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

module.exports = { median };
