// The scale of a benchmark: SVC_BENCH_SCALE multiplies counts of rows, jobs and followers, and the duration of a round.

const SCALE = Number(process.env.SVC_BENCH_SCALE || 1)
if (!(SCALE > 0)) throw new Error(`SVC_BENCH_SCALE must be a number above 0, and is "${process.env.SVC_BENCH_SCALE}"`)

/** `count` times the scale, at least `least`. */
export function sized(count: number, least = 1): number {
  return Math.max(least, Math.round(count * SCALE))
}

/** `count` as the name of a figure shows it. */
export function shown(count: number): string {
  return count.toLocaleString('en')
}
