package com.example;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class MedianTest {
    @Test
    public void one() {
        assertEquals(7, Median.of(7), 0.0);
    }

    @Test
    public void odd() {
        assertEquals(2, Median.of(1, 2, 9), 0.0);
    }

    @Test
    public void unsorted() {
        assertEquals(2, Median.of(9, 1, 2), 0.0);
    }
}
