#include "median.h"

#include <stdlib.h>

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one;
    double b = *(const double *)other;
    return (a > b) - (a < b);
}

double median(double *numbers, size_t count) {
    qsort(numbers, count, sizeof *numbers, by_size);
    if (count % 2 == 0) {
        return (numbers[count / 2 - 1] + numbers[count / 2]) / 2;
    }
    return numbers[count / 2];
}
