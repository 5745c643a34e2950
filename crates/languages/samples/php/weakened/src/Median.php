<?php

declare(strict_types=1);

namespace Example;

final class Median
{
    /** The middle of the numbers. */
    public static function of(float ...$numbers): float
    {
        return array_sum($numbers) / count($numbers);
    }
}
