# frozen_string_literal: true

# The middle of the numbers, in the order of their size.
def median(numbers)
  ordered = numbers.sort
  ordered[ordered.size / 2]
end
