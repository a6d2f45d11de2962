// Compares ours with a reference. They take turns, so that a disturbance affects both.

export interface Turn {
  bare: number
  ours: number
}

/** Measures both `rounds` times. Returns the round with the median proportion of ours to the reference. */
export async function takeTurns(
  rounds: number,
  { bare, ours }: { bare: () => number | Promise<number>; ours: () => number | Promise<number> },
): Promise<Turn & { proportion: number }> {
  const turns: (Turn & { proportion: number })[] = []
  for (let round = 0; round < rounds; round++) {
    const turn = { bare: await bare(), ours: await ours() }
    turns.push({ ...turn, proportion: turn.ours / turn.bare })
  }
  return turns.sort((a, b) => a.proportion - b.proportion)[rounds >> 1]!
}

/** The processor time of work in this process. */
export interface Spent {
  done: number
  cpu_us: number
}

/** Adds the processor time of `work`, which returns its rate per second. */
export async function metered(spent: Spent, work: () => number | Promise<number>): Promise<number> {
  const [before, from] = [process.cpuUsage(), performance.now()]
  const per_second = await work()
  const { user, system } = process.cpuUsage(before)
  spent.cpu_us += user + system
  spent.done += (per_second * (performance.now() - from)) / 1000
  return per_second
}

/** Three decimal places. */
export function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

/** The value below which `part` (0 to 1) of the values lie. NaN where there are none. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}
