using Xunit;

namespace Example.Tests;

public class MedianTests
{
    [Fact]
    public void One()
    {
        Assert.Equal(7.0, Median.Of(7));
    }

    [Fact]
    public void Odd()
    {
        Assert.Equal(2.0, Median.Of(1, 2, 9));
    }

    [Fact]
    public void Unsorted()
    {
        Assert.Equal(2.0, Median.Of(9, 1, 2));
    }

    [Fact]
    public void Even()
    {
        Assert.Equal(2.0, Median.Of(1, 2, 2, 4));
    }
}
