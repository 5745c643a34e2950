defmodule Median do
  @doc "The middle of the numbers, in the order of their size; of an even number of them, the mean of the middle two."
  def of(numbers) do
    ordered = Enum.sort(numbers)
    middle = div(length(ordered), 2)

    if rem(length(ordered), 2) == 0 do
      (Enum.at(ordered, middle - 1) + Enum.at(ordered, middle)) / 2
    else
      Enum.at(ordered, middle)
    end
  end
end
