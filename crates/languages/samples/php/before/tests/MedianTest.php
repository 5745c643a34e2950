<?php

declare(strict_types=1);

namespace Example\Tests;

use Example\Median;
use PHPUnit\Framework\TestCase;

final class MedianTest extends TestCase
{
    public function testOne(): void
    {
        self::assertSame(7.0, Median::of(7));
    }

    public function testOdd(): void
    {
        self::assertSame(2.0, Median::of(1, 2, 9));
    }

    public function testUnsorted(): void
    {
        self::assertSame(2.0, Median::of(9, 1, 2));
    }
}
