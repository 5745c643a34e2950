using System.Linq;

namespace Example;

public static class Median
{
    /// <summary>The middle of the numbers, in the order of their size.</summary>
    public static double Of(params double[] numbers)
    {
        var ordered = numbers.OrderBy(number => number).ToArray();
        return ordered[ordered.Length / 2];
    }
}
