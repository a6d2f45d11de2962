// Damages copies of what a kill left. A server on such a copy may refuse to start with a reason. Otherwise it serves each record as on an
// undamaged copy, or answers with an error that reports the damage.
import { cpSync, rmSync } from 'node:fs'
import type { Health } from '../../../generated/types.ts'
import { damageFolder } from '../../helpers/damage.ts'
import { call } from '../../helpers/http.ts'
import { MAIN, type RunningProcess, runProcess } from '../../helpers/process.ts'
import { temporaryFolder, until } from '../../helpers/server.ts'
import { databaseOf } from '../census.ts'
import type { Fault } from '../evidence.ts'
import type { Random } from '../random.ts'
import { keepAcknowledged } from './acknowledged.ts'
import { type Outcome, outcomeOf, type Verdict } from './outcome.ts'
import { ask, type RecordAnswer, recordsOf, type StoredRecord } from './records.ts'

/** The number of concurrent requests. */
const AT_ONCE = 8

/** The number of each outcome. */
export type Tally = Readonly<Record<Outcome, number>>

export class DamageTrials {
  readonly faults: Fault[] = []
  readonly #tally: Record<Outcome, number> = { refused: 0, found: 0, harmless: 0 }
  readonly #environment: Readonly<Record<string, string>>

  constructor(environment: Readonly<Record<string, string>>) {
    this.#environment = environment
  }

  get tally(): Tally {
    return this.#tally
  }

  /** Damages copies of an ended server's folder and returns the outcomes. The database had `copied` pages of the log. */
  async damage(data_dir: string, copied: number, random: Random, count: number): Promise<string[]> {
    using sound = copyOf(data_dir)
    if (!keepAcknowledged(databaseOf(sound.folder), copied))
      return ['nothing to damage: the last commits were not acknowledged']
    using untouched = copyOf(sound.folder)
    const records = recordsOf(sound.folder, random)
    const truth = await serving(untouched.folder, this.#environment, (url) => answers(url, records))
    if ('refusal' in truth) throw new Error(`an undamaged copy is refused: ${truth.refusal.stderr}`)
    const told: string[] = []
    for (let trial = 0; trial < count; trial++) told.push(await this.#trial(sound.folder, random, truth.given))
    return told
  }

  async #trial(sound: string, random: Random, truth: Answers): Promise<string> {
    using copy = copyOf(sound)
    const what = damageFolder(copy.folder, () => random.next())
    const { outcome, wrong } = await this.#verdict(copy.folder, truth)
    if (outcome !== null) this.#tally[outcome]++
    for (const one of wrong) this.faults.push({ kind: 'contradiction', job_id: null, what: `damage (${what}): ${one}` })
    return `${what}: ${outcome ?? 'SERVED'}`
  }

  async #verdict(folder: string, truth: Answers): Promise<Verdict> {
    try {
      const found = await serving(folder, this.#environment, async (url) => {
        const given = await answers(url, [...truth.keys()])
        return { given, health: (await call<Health>({ url }, 'GET', '/health')).body.services.database }
      })
      if ('refusal' in found) return { outcome: 'refused', wrong: unclear(found.refusal) }
      return outcomeOf(truth, found.given.given, found.given.health === 'damaged')
    } catch (error) {
      return { outcome: null, wrong: [String(error instanceof Error ? error.stack : error)] }
    }
  }
}

/**
 * Returns the fault in the message of a refused start. It must be one line without a stack. Earlier JSON lines of the log do not count:
 * they may report damage behind the pages that an opening reads.
 */
function unclear({ code, stderr }: Refusal): string[] {
  const words = stderr.split('\n').filter((line) => !isOfLog(line))
  const clear = code === 1 && words.length === 2 && /^svc: \S/.test(words[0]!) && words[1] === ''
  return clear ? [] : [`it ended with ${code}: ${stderr.slice(0, 1_000)}`]
}

function isOfLog(line: string): boolean {
  if (!line.startsWith('{')) return false
  const { level, msg, err } = JSON.parse(line) as { level?: unknown; msg?: unknown; err?: unknown }
  return typeof level === 'number' && typeof msg === 'string' && err === undefined
}

interface Copy extends Disposable {
  readonly folder: string
}

function copyOf(source: string): Copy {
  const folder = temporaryFolder()
  cpSync(source, folder, { recursive: true })
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

type Answers = ReadonlyMap<StoredRecord, RecordAnswer>

interface Refusal {
  readonly code: number | null
  readonly stderr: string
}

/** The answers of a server on this folder, or the reason why it does not start. */
async function serving<T>(
  data_dir: string,
  environment: Readonly<Record<string, string>>,
  work: (url: string) => Promise<T>,
): Promise<{ readonly given: T } | { readonly refusal: Refusal }> {
  await using server = runProcess(MAIN, ['serve', '--port', '0'], { ...environment, SVC_DATA_DIR: data_dir })
  const url = await until('a server to listen or end', () => over(server) || urlOf(server))
  return url === true ? { refusal: await server.ended() } : { given: await work(url) }
}

function over({ child }: RunningProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function urlOf(server: RunningProcess): string | undefined {
  return /listens on (http:\S+)\n/.exec(server.stdout())?.[1]
}

async function answers(url: string, records: readonly StoredRecord[]): Promise<Answers> {
  const given = new Map<StoredRecord, RecordAnswer>()
  const left = [...records]
  const worker = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) given.set(one, await ask(url, one))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return given
}
