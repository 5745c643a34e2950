# frozen_string_literal: true

RSpec.describe "#median" do
  it "is the only number" do
    expect(median([7])).to eq(7)
  end

  it "is the middle of an odd number of them" do
    expect(median([1, 2, 9])).to eq(2)
  end

  it "does not depend on their order" do
    expect(median([9, 1, 2])).to eq(2)
  end

  it "is the mean of the middle two of an even number" do
    expect(median([1, 2, 3, 4])).to eq(2.5)
  end
end
