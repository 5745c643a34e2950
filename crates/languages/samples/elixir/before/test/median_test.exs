defmodule MedianTest do
  use ExUnit.Case, async: true

  test "of one number" do
    assert Median.of([7]) == 7
  end

  test "of an odd number of them" do
    assert Median.of([1, 2, 9]) == 2
  end

  test "of numbers in any order" do
    assert Median.of([9, 1, 2]) == 2
  end
end
