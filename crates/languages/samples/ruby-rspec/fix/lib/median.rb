# frozen_string_literal: true

# The middle of the numbers, in the order of their size; of an even number of them, the mean of the middle two.
def median(numbers)
  ordered = numbers.sort
  middle = ordered.size / 2
  return (ordered[middle - 1] + ordered[middle]) / 2.0 if ordered.size.even?

  ordered[middle]
end
