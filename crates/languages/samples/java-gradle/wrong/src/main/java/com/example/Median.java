package com.example;

import java.util.Arrays;

public final class Median {
    private Median() {}

    /** The middle of the numbers, in the order of their size. */
    public static double of(double... numbers) {
        if (numbers.length == 0) {
            throw new IllegalArgumentException("there is no median of no numbers");
        }
        double[] ordered = numbers.clone();
        Arrays.sort(ordered);
        return ordered[ordered.length / 2];
    }
}
