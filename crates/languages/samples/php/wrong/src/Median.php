<?php

declare(strict_types=1);

namespace Example;

final class Median
{
    /** The middle of the numbers, in the order of their size. */
    public static function of(float ...$numbers): float
    {
        if ($numbers === []) {
            throw new \InvalidArgumentException("there is no median of no numbers");
        }
        sort($numbers);

        return $numbers[intdiv(count($numbers), 2)];
    }
}
