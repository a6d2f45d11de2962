// Scales tests beyond their minimum: `make test-long` multiplies them by a hundred.

/** Returns `count` times SVC_TEST_SCALE (default 1). */
export function scaled(count: number): number {
  return Math.ceil(count * Number(process.env.SVC_TEST_SCALE ?? 1))
}

/**
 * The `skip` of a test that takes a bound at its real size. `make test-bounds`, which CI runs, and `make test-long` run it. `make test` has smaller
 * tests of most of these promises; some of them only `make test-bounds` tests.
 */
export const atRealSize = process.env.SVC_TEST_BOUNDS === '1' ? false : 'takes its real size: make test-bounds'
