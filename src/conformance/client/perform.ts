// Plays one scenario at a client and gives its verdict.
import { openServer } from './reference-server.ts'
import { ruleOf, type Scenario } from './scenario.ts'
import { Stage } from './stage.ts'
import type { Task } from './tasks.ts'
import type { Entry } from './transcript.ts'
import { type Judgement, judge } from './verdict.ts'

export interface Surroundings {
  readonly url: string
  readonly token: string
  readonly scenario: string
  readonly task: Task
  /** The scenario is over. */
  readonly signal: AbortSignal
}

/** Makes the client under test do a task, and resolves when that has ended, with a word about it. */
export type Driver = (surroundings: Surroundings) => Promise<string>

export interface PerformOptions {
  /** Without one, a client is waited for. */
  readonly driver: Driver | null
  readonly port: number
  /** Scales every time of the contract that a scenario waits for. */
  readonly pace: number
  /** Milliseconds that a scenario may take, if it is not a patient one. */
  readonly timeout_ms: number
  /** A client is waited for, at this place and with this task. */
  readonly announce?: (surroundings: Omit<Surroundings, 'signal'>) => void
  /** Ends the scenario as it is. */
  readonly stop?: AbortSignal
}

export interface Outcome extends Judgement {
  readonly scenario: string
  readonly requirement: string
  readonly title: string
  readonly rule: string
  readonly duration_ms: number
  readonly transcript: readonly Entry[]
}

/** What comes after the report is still looked at for so long. */
const SETTLE_MS = 60

export async function perform(scenario: Scenario, options: PerformOptions): Promise<Outcome> {
  const { promise: decided, resolve: decide } = Promise.withResolvers<void>()
  const stage = new Stage(scenario, {
    pace: options.pace,
    changed: () => (stage.violation ? decide() : void setTimeout(decide, SETTLE_MS)),
  })
  scenario.prepare?.(stage)
  await using server = await openServer({ stage, scenario }, options.port)
  const limit_ms = options.timeout_ms + (scenario.patience_ms ?? 0) * options.pace
  using _limits = endsBy(limit_ms, options.stop, stage, decide)
  const over = new AbortController()
  const surroundings = { url: server.url, token: stage.task.tokens[0]!, scenario: scenario.id, task: stage.task }
  options.announce?.(surroundings)
  const driven = drive(options.driver, { ...surroundings, signal: over.signal }, stage, decide)
  await decided
  const outcome = outcomeOf(stage, scenario)
  over.abort()
  await driven
  return outcome
}

/** Ends a scenario when its time is over, or when everything is to stop. */
function endsBy(ms: number, stop: AbortSignal | undefined, stage: Stage, decide: () => void): Disposable {
  const end = (why: string) => () => {
    stage.transcript.note(why)
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

function outcomeOf(stage: Stage, scenario: Scenario): Outcome {
  const { ms: duration_ms, entries } = stage.transcript
  const facts = {
    scenario: scenario.id,
    requirement: `client.${scenario.id}`,
    title: scenario.title,
    rule: ruleOf(scenario),
  }
  return { ...facts, ...judge(stage, scenario), duration_ms, transcript: [...entries] }
}

async function drive(
  driver: Driver | null,
  surroundings: Surroundings,
  stage: Stage,
  decide: () => void,
): Promise<void> {
  if (!driver) return
  const word = await driver(surroundings).catch(
    (error: unknown) => `failed: ${error instanceof Error ? error.message : error}`,
  )
  stage.transcript.note(`the client's driver ended: ${word}`)
  setTimeout(decide, SETTLE_MS)
}
