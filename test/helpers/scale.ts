// Scales tests beyond their minimum: `make test-long` multiplies them by a hundred.

/** Returns `count` times SVC_TEST_SCALE (default 1). */
export function scaled(count: number): number {
  return Math.ceil(count * Number(process.env.SVC_TEST_SCALE ?? 1))
}

/** The `skip` of a test that takes a bound at its real size. `make test-bounds` and `make test-long` run it; `make test` has others of the same promise. */
export const atRealSize = process.env.SVC_TEST_BOUNDS === '1' ? false : 'takes its real size: make test-bounds'
