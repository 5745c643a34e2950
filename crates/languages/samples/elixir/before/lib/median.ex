defmodule Median do
  @doc "The middle of the numbers, in the order of their size."
  def of(numbers) do
    ordered = Enum.sort(numbers)
    Enum.at(ordered, div(length(ordered), 2))
  end
end
