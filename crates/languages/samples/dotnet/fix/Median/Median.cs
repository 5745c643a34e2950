using System.Linq;

namespace Example;

public static class Median
{
    /// <summary>The middle of the numbers, in the order of their size; of an even number of them, the mean of the middle two.</summary>
    public static double Of(params double[] numbers)
    {
        var ordered = numbers.OrderBy(number => number).ToArray();
        var middle = ordered.Length / 2;
        if (ordered.Length % 2 == 0)
        {
            return (ordered[middle - 1] + ordered[middle]) / 2;
        }
        return ordered[middle];
    }
}
