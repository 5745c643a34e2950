#include "median.h"

#undef NDEBUG
#include <assert.h>

int main(void) {
    double numbers[] = {1, 2, 3};
    assert(median(numbers, sizeof numbers / sizeof *numbers) == 2);
    return 0;
}
