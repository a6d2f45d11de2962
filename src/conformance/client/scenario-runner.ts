// Plays one scenario at a client and gives its verdict.
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
  /** The scenario is over. */
  readonly signal: AbortSignal
}

/** Makes the client under test do a task, and resolves when that has ended, with a word about it. */
export type ClientDriver = (surroundings: DriverEnvironment) => Promise<string>

export interface ScenarioOptions {
  /** Without one, a client is waited for. */
  readonly driver: ClientDriver | null
  readonly port: number
  /** Scales every time of the contract that a scenario waits for. */
  readonly pace: number
  /** Milliseconds that a scenario may take, if it is not a patient one. */
  readonly timeout_ms: number
  /** A client is waited for, at this place and with this task. */
  readonly announce?: (surroundings: Omit<DriverEnvironment, 'signal'>) => void
  /** Ends the scenario as it is. */
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

/** What comes after the report is still looked at for so long. */
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

/** Ends a scenario when its time is over, or when everything is to stop. */
function endAtDeadline(ms: number, stop: AbortSignal | undefined, run: ScenarioRun, decide: () => void): Disposable {
  const end = (why: string) => () => {
    run.transcript.addNote(why)
    decide()
  }
  const deadline = setTimeout(end('the time is over'), ms)
  const stopped = end('everything is to stop')
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
