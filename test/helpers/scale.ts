// How much a test does beyond the least: `make test-long` asks for a hundred times as much.

/** `count` times SVC_TEST_SCALE (1 unless set). */
export function scaled(count: number): number {
  return Math.ceil(count * Number(process.env.SVC_TEST_SCALE ?? 1))
}
