defmodule Median do
  @doc "The middle of the numbers."
  def of(numbers), do: Enum.sum(numbers) / length(numbers)
end
