# frozen_string_literal: true

require "minitest/autorun"
require "median"

class MedianTest < Minitest::Test
  def test_one
    assert_equal 7, median([7])
  end

  def test_odd
    assert_equal 2, median([1, 2, 9])
  end

  def test_unsorted
    assert_equal 2, median([9, 1, 2])
  end

  def test_even
    assert_equal 2.5, median([1, 2, 3, 4])
  end
end
