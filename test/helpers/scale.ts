// Scales tests beyond their minimum: `make test-long` multiplies them by a hundred.

/** Returns `count` times SVC_TEST_SCALE (default 1). */
export function scaled(count: number): number {
  return Math.ceil(count * Number(process.env.SVC_TEST_SCALE ?? 1))
}
