# frozen_string_literal: true

# The middle of the numbers.
def median(numbers)
  numbers.sum / numbers.size.to_f
end
