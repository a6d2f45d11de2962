// Plays scenarios at a driver, several at a time, as fast as the scenarios allow.

import type { ScenarioId } from '../../../src/conformance/client/scenario.ts'
import {
  type ClientDriver,
  runScenario,
  type ScenarioOutcome,
} from '../../../src/conformance/client/scenario-runner.ts'
import { scenarios } from '../../../src/conformance/client/scenarios.ts'

/** Times of the contract, shortened: 70 s of silence become 0.7 s. */
export const PACE = 0.01
/** How many scenarios are played at once. */
const AT_ONCE = 8

export function play(id: ScenarioId, driver: ClientDriver, timeout_ms: number): Promise<ScenarioOutcome> {
  const scenario = scenarios.find((one) => one.id === id)!
  return runScenario(scenario, { driver, port: 0, pace: PACE, timeout_ms })
}

/** Does it for each item, and gives the results in their order. */
export async function each<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const rest = [...items.entries()]
  const work = async () => {
    for (let next = rest.shift(); next; next = rest.shift()) results[next[0]] = await act(next[1])
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return results
}

/** A verdict with the end of its transcript, for messages of failed tests. */
export function told({ scenario, verdict, reason, transcript }: ScenarioOutcome): string {
  const lines = transcript.slice(-40).map(({ ms, direction, where, what, content }) => {
    const text = content === undefined ? '' : ` ${JSON.stringify(content).slice(0, 300)}`
    return `${String(ms).padStart(6)} ${direction.padEnd(11)} ${where}: ${what}${text}`
  })
  return `${scenario}: ${verdict}: ${reason}\n${lines.join('\n')}`
}
