// Runs scenarios with a client, one after the other on one port.
import type { ClientDriver, DriverEnvironment, ScenarioOutcome } from './scenario-runner.ts'
import { runScenario } from './scenario-runner.ts'
import { scenarios } from './scenarios.ts'

export interface ClientSuiteOptions {
  /** Ids of scenarios; empty for all. */
  readonly only: readonly string[]
  readonly driver: ClientDriver | null
  readonly port: number
  readonly pace: number
  readonly timeout_ms: number
  readonly stop: AbortSignal
  /** Called when a scenario begins. */
  readonly onScenarioStart: (surroundings: Omit<DriverEnvironment, 'signal'>) => void
  /** Called when a scenario has ended. */
  readonly onOutcome: (outcome: ScenarioOutcome) => void
}

/** Returns the scenarios with these ids, in their own order. @throws RangeError for an unknown id */
export function selectScenarios(only: readonly string[]) {
  const unknown = only.find((id) => !scenarios.some((scenario) => scenario.id === id))
  if (unknown !== undefined) throw new RangeError(`there is no scenario "${unknown}"`)
  return only.length === 0 ? scenarios : scenarios.filter(({ id }) => only.includes(id))
}

export async function runClientSuite({
  only,
  onOutcome,
  onScenarioStart,
  ...options
}: ClientSuiteOptions): Promise<ScenarioOutcome[]> {
  const outcomes: ScenarioOutcome[] = []
  let port = options.port
  for (const scenario of selectScenarios(only)) {
    if (options.stop.aborted) break
    const outcome = await runScenario(scenario, {
      ...options,
      port,
      announce: (surroundings) => {
        // All scenarios use the port of the first one.
        port = Number(new URL(surroundings.url).port)
        onScenarioStart(surroundings)
      },
    })
    outcomes.push(outcome)
    onOutcome(outcome)
  }
  return outcomes
}
