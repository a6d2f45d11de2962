// Ours beside a bare counterpart: they take turns, so that what disturbs one disturbs the other.

export interface Turn {
  bare: number
  ours: number
}

/** Measures both `rounds` times and gives the round with the middle proportion of ours to the bare one. */
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

/** What work of this process has taken of the processor. */
export interface Spent {
  done: number
  cpu_us: number
}

/** Adds what `work` takes, which gives how much it did in a second. */
export async function metered(spent: Spent, work: () => number | Promise<number>): Promise<number> {
  const [before, from] = [process.cpuUsage(), performance.now()]
  const per_second = await work()
  const { user, system } = process.cpuUsage(before)
  spent.cpu_us += user + system
  spent.done += (per_second * (performance.now() - from)) / 1000
  return per_second
}

/** Three places after the point. */
export function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

/** The value below which `part` (0 to 1) of the values lie; NaN where there are none. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}
