package com.example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class MedianTest {
    @Test
    void one() {
        assertEquals(7, Median.of(7));
    }

    @Test
    void odd() {
        assertEquals(2, Median.of(1, 2, 9));
    }

    @Test
    void unsorted() {
        assertEquals(2, Median.of(9, 1, 2));
    }

    @Test
    void even() {
        assertEquals(2.5, Median.of(1, 2, 3, 4));
    }
}
