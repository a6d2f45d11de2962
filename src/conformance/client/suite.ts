// Plays scenarios at a client, one after the other on one port.
import type { Driver, Outcome, Surroundings } from './perform.ts'
import { perform } from './perform.ts'
import { scenarios } from './scenarios.ts'

export interface SuiteOptions {
  /** Ids of scenarios; empty for all. */
  readonly only: readonly string[]
  readonly driver: Driver | null
  readonly port: number
  readonly pace: number
  readonly timeout_ms: number
  readonly stop: AbortSignal
  /** A scenario begins. */
  readonly announce: (surroundings: Omit<Surroundings, 'signal'>) => void
  /** A scenario is over. */
  readonly tell: (outcome: Outcome) => void
}

/** The scenarios with these ids, in their own order. @throws RangeError for an id that there is not */
export function chosen(only: readonly string[]) {
  const unknown = only.find((id) => !scenarios.some((scenario) => scenario.id === id))
  if (unknown !== undefined) throw new RangeError(`there is no scenario "${unknown}"`)
  return only.length === 0 ? scenarios : scenarios.filter(({ id }) => only.includes(id))
}

export async function judgeClient({ only, tell, announce, ...options }: SuiteOptions): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let port = options.port
  for (const scenario of chosen(only)) {
    if (options.stop.aborted) break
    const outcome = await perform(scenario, {
      ...options,
      port,
      announce: (surroundings) => {
        // The address of the first one is that of all.
        port = Number(new URL(surroundings.url).port)
        announce(surroundings)
      },
    })
    outcomes.push(outcome)
    tell(outcome)
  }
  return outcomes
}
