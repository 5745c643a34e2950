#include "median.h"

#include <stdlib.h>

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one;
    double b = *(const double *)other;
    return (a > b) - (a < b);
}

double median(double *numbers, size_t count) {
    if (count == 0) {
        abort();
    }
    qsort(numbers, count, sizeof *numbers, by_size);
    return numbers[count / 2];
}
