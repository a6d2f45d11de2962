// Runs one scenario with a client and returns its verdict.
import { openReferenceServer } from './reference-server.ts'
import { findScenarioRule, type Scenario } from './scenario.ts'
import { ScenarioRun } from './scenario-run.ts'
import type { ClientTask } from './tasks.ts'
import type { TranscriptEntry } from './transcript.ts'
import { decideVerdict, type ScenarioVerdict } from './verdict.ts'

export interface DriverEnvironment {
  readonly url: string
  readonly token: string
  readonly scenario: string
  readonly task: ClientTask
  /** Aborts at the end of the scenario. */
  readonly signal: AbortSignal
}

/** Makes the client under test do a task. Resolves with a short text when the task has ended. */
export type ClientDriver = (surroundings: DriverEnvironment) => Promise<string>

export interface ScenarioOptions {
  /** Null: the scenario waits for a client to connect. */
  readonly driver: ClientDriver | null
  readonly port: number
  /** Scales all times of the contract in a scenario. */
  readonly pace: number
  /** The time limit of a scenario in milliseconds, unless the scenario extends it. */
  readonly timeout_ms: number
  /** Announces the URL and the task to a client that connects by itself. */
  readonly announce?: (surroundings: Omit<DriverEnvironment, 'signal'>) => void
  /** Ends the scenario early. */
  readonly stop?: AbortSignal
}

export interface ScenarioOutcome extends ScenarioVerdict {
  readonly scenario: string
  readonly requirement: string
  readonly title: string
  readonly rule: string
  readonly duration_ms: number
  readonly transcript: readonly TranscriptEntry[]
}

/** How long calls after the report still count. */
const SETTLE_TIMEOUT_MS = 60

export async function runScenario(scenario: Scenario, options: ScenarioOptions): Promise<ScenarioOutcome> {
  const { promise: decided, resolve: decide } = Promise.withResolvers<void>()
  const run = new ScenarioRun(scenario, {
    pace: options.pace,
    onChange: () => (run.violation ? decide() : void setTimeout(decide, SETTLE_TIMEOUT_MS)),
  })
  scenario.prepare?.(run)
  await using server = await openReferenceServer({ scenarioRun: run, scenario }, options.port)
  const limit_ms = options.timeout_ms + (scenario.extra_timeout_ms ?? 0) * options.pace
  using _limits = endAtDeadline(limit_ms, options.stop, run, decide)
  const over = new AbortController()
  const surroundings = { url: server.url, token: run.task.tokens[0]!, scenario: scenario.id, task: run.task }
  options.announce?.(surroundings)
  const driven = runDriver(options.driver, { ...surroundings, signal: over.signal }, run, decide)
  await decided
  const outcome = createOutcome(run, scenario)
  over.abort()
  await driven
  return outcome
}

/** Ends a scenario at its time limit, or when the suite stops. */
function endAtDeadline(ms: number, stop: AbortSignal | undefined, run: ScenarioRun, decide: () => void): Disposable {
  const end = (why: string) => () => {
    run.transcript.addNote(why)
    decide()
  }
  const deadline = setTimeout(end('the time limit is reached'), ms)
  const stopped = end('the suite is stopped')
  stop?.addEventListener('abort', stopped)
  return {
    [Symbol.dispose]() {
      clearTimeout(deadline)
      stop?.removeEventListener('abort', stopped)
    },
  }
}

function createOutcome(run: ScenarioRun, scenario: Scenario): ScenarioOutcome {
  const { elapsed_ms: duration_ms, entries } = run.transcript
  const facts = {
    scenario: scenario.id,
    requirement: `client.${scenario.id}`,
    title: scenario.title,
    rule: findScenarioRule(scenario),
  }
  return { ...facts, ...decideVerdict(run, scenario), duration_ms, transcript: [...entries] }
}

async function runDriver(
  driver: ClientDriver | null,
  surroundings: DriverEnvironment,
  run: ScenarioRun,
  decide: () => void,
): Promise<void> {
  if (!driver) return
  const word = await driver(surroundings).catch(
    (error: unknown) => `failed: ${error instanceof Error ? error.message : error}`,
  )
  run.transcript.addNote(`the client's driver ended: ${word}`)
  setTimeout(decide, SETTLE_TIMEOUT_MS)
}
