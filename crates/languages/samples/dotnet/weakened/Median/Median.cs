using System.Linq;

namespace Example;

public static class Median
{
    /// <summary>The middle of the numbers.</summary>
    public static double Of(params double[] numbers)
    {
        return numbers.Sum() / numbers.Length;
    }
}
