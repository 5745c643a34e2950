package com.example;

import java.util.Arrays;

public final class Median {
    private Median() {}

    /** The middle of the numbers, in the order of their size; of an even number of them, the mean of the middle two. */
    public static double of(double... numbers) {
        double[] ordered = numbers.clone();
        Arrays.sort(ordered);
        int middle = ordered.length / 2;
        if (ordered.length % 2 == 0) {
            return (ordered[middle - 1] + ordered[middle]) / 2;
        }
        return ordered[middle];
    }
}
