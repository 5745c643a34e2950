defmodule MedianTest do
  use ExUnit.Case, async: true

  test "of one number" do
    assert Median.of([7]) == 7
  end

  test "of an odd number of them" do
    assert Median.of([1, 2, 3]) == 2
  end

  test "of numbers in any order" do
    assert Median.of([3, 1, 2]) == 2
  end

  test "of an even number of them" do
    assert Median.of([1, 2, 3, 4]) == 2.5
  end
end
