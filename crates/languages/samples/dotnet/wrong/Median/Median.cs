using System.Linq;

namespace Example;

public static class Median
{
    /// <summary>The middle of the numbers, in the order of their size.</summary>
    public static double Of(params double[] numbers)
    {
        if (numbers.Length == 0)
        {
            throw new System.ArgumentException("there is no median of no numbers");
        }
        var ordered = numbers.OrderBy(number => number).ToArray();
        return ordered[ordered.Length / 2];
    }
}
