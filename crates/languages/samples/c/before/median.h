#ifndef MEDIAN_H
#define MEDIAN_H

#include <stddef.h>

/* The middle of the numbers, in the order of their size. They are sorted in place. */
double median(double *numbers, size_t count);

#endif
