<?php

declare(strict_types=1);

namespace Example;

final class Median
{
    /** The middle of the numbers, in the order of their size; of an even number of them, the mean of the middle two. */
    public static function of(float ...$numbers): float
    {
        sort($numbers);
        $middle = intdiv(count($numbers), 2);
        if (count($numbers) % 2 === 0) {
            return ($numbers[$middle - 1] + $numbers[$middle]) / 2;
        }

        return $numbers[$middle];
    }
}
