// JSON schemas that workflows bring, and values judged by them. Nobody trusts such a schema: it is bounded in size, and compiled and used in
// a thread of its own that is ended when it takes too long. What a verdict means for a node or a request is left to them.
import { SHARE_ENV, Worker } from 'node:worker_threads'
import { isLongerAsJson, isTooDeep } from '../engine/measure.ts'
import { isLight } from '../light-parts.ts'
import { finish, type Steps } from '../time-slices.ts'
import { bytesSteps } from '../value-parts.ts'
import { type Owner, Places } from '../workers/places.ts'
import { isPlainSchema, wrongKeyword } from './plain-schema.ts'

export type Schema = Readonly<Record<string, unknown>>

export type Verdict =
  | { readonly kind: 'fits' }
  /** What is wrong with the value, as far as it is told; `path` is a JSON pointer within it. */
  | { readonly kind: 'unfit'; readonly problems: readonly { readonly path: string; readonly message: string }[] }
  /** The schema can judge nothing; `why` is the end of a sentence that begins with it. */
  | { readonly kind: 'unusable'; readonly why: string }
  /** It takes more time or memory than there is for it. */
  | { readonly kind: 'costly' }

/** `given` is null where only the schema is judged. A large value is handed over as the bytes of its parts. */
export interface ToSchemaWorker {
  readonly schema: Record<string, unknown>
  readonly given: { readonly value: unknown } | { readonly bytes: Uint8Array<ArrayBuffer> } | null
}

/** Does the work that a large value makes before it is judged. */
export type Doing = <T>(steps: Steps<T>) => T | Promise<T>

export type FromSchemaWorker = { readonly kind: 'ready' } | Verdict

/** How long a schema may be as JSON text. */
export const LONGEST_SCHEMA = 65_536
/** How much processor time a thread may take for a schema and its value, its start included, in milliseconds; and how often it is asked. */
const LONGEST_MS = 1_500
const ASKED_EACH_MS = 250
/**
 * How much memory it may take, how often it is asked, and where the engine itself would end it. That limit is far off: the engine
 * grants a thread 16 MiB to come to its end, and takes the whole process with it where that is not enough.
 */
const MOST_BYTES = 128 * 1024 * 1024
const MEMORY_ASKED_EACH_MS = 20
const ENGINES_LIMIT_MIB = 1_024
/** How long it may take by the clock: beyond that the machine is too busy, and nothing is known of the schema. */
const LONGEST_BY_THE_CLOCK_MS = 60_000
/** How many are judged at the same time. Users take turns, and one more is for another user where one has both. */
const MOST_THREADS = 2
/** How many schemas are remembered as usable: a stream waits by the same one for each of its items. */
const REMEMBERED = 200

const DRAFTS = new Set([
  'http://json-schema.org/draft-07/schema',
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema',
])

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './schema-worker.ts' : './schema-worker.js', import.meta.url)

/** Its output streams are its own and nobody reads them. It prints nothing. */
function start(): Worker {
  return new Worker(SCRIPT, {
    resourceLimits: { maxOldGenerationSizeMb: ENGINES_LIMIT_MIB },
    env: SHARE_ENV,
    execArgv: [],
    stdout: true,
    stderr: true,
  })
}

/** For whom a value is judged, and what does the work that a large one makes. */
interface Judging {
  readonly owner?: Owner
  readonly doing?: Doing
}

const NO_OWNER = ''

export class Schemas {
  readonly #places = new Places(MOST_THREADS)
  readonly #usable = new Map<string, Promise<Verdict>>()
  /** Those that are judged now, by owner and text: nobody waits for a turn of another user. */
  readonly #judging = new Map<string, Promise<Verdict>>()

  /** How many of an owner wait to be judged. */
  waiting(owner: Owner): number {
    return this.#places.waiting(owner)
  }

  /** Whether a schema can judge values at all: never `unfit`. Waits no longer for its turn than until `signal` aborts, and rejects then. */
  judge(schema: Schema, owner = NO_OWNER, signal?: AbortSignal): Promise<Verdict> {
    const refused = refusedAtSight(schema)
    if (refused) return Promise.resolve(refused)
    const bare = withoutDraft(schema)
    if (isPlainSchema(bare)) return Promise.resolve({ kind: 'fits' })
    const text = JSON.stringify(bare)
    const owned = JSON.stringify(owner) + text
    const known = this.#usable.get(text) ?? this.#judging.get(owned)
    if (known) return known
    const verdict = this.#inTurn(owner, { schema: bare, given: null }, signal)
    // How much it takes varies.
    verdict.then(
      ({ kind }) => kind !== 'costly' && this.#remember(text, verdict),
      () => {},
    )
    // A judgement that can be given up is not shared.
    if (!signal) this.#share(owned, verdict)
    return verdict
  }

  #share(owned: string, verdict: Promise<Verdict>): void {
    this.#judging.set(owned, verdict)
    const end = () => this.#judging.delete(owned)
    verdict.then(end, end)
  }

  #remember(text: string, verdict: Promise<Verdict>): void {
    if (this.#usable.size >= REMEMBERED) this.#usable.delete(this.#usable.keys().next().value!)
    this.#usable.set(text, verdict)
  }

  async check(schema: Schema, value: unknown, { owner = NO_OWNER, doing = finish }: Judging = {}): Promise<Verdict> {
    const refused = refusedAtSight(schema)
    if (refused) return refused
    const bare = withoutDraft(schema)
    // What is nested too deeply is found where it is handed over.
    const isSmall = isTooDeep(value) || isLight(value)
    return this.#inTurn(owner, isSmall ? { schema: bare, given: { value } } : () => handedOver(bare, value, doing))
  }

  /** What is asked may be made when its turn has come. */
  async #inTurn(
    owner: Owner,
    asked: ToSchemaWorker | (() => Promise<ToSchemaWorker | null>),
    signal = new AbortController().signal,
  ): Promise<Verdict> {
    await this.#places.turn(owner, signal)
    try {
      const made = typeof asked === 'function' ? await asked() : asked
      return made ? await ask(made) : { kind: 'costly' }
    } finally {
      this.#places.giveBack(owner)
    }
  }
}

/** Null where the value is nested too deeply to be handed over. */
async function handedOver(
  schema: Record<string, unknown>,
  value: unknown,
  doing: Doing,
): Promise<ToSchemaWorker | null> {
  try {
    return { schema, given: { bytes: await doing(bytesSteps(value)) } }
  } catch {
    return null
  }
}

/** Whether a schema is so plain and small that it can judge values for sure. False: that is not known. */
export function isKnownUsable(schema: Schema): boolean {
  return refusedAtSight(schema) === null && isPlainSchema(withoutDraft(schema))
}

/** Why a schema can judge nothing, as far as that shows without compiling it; the end of a sentence that begins with it. */
export function unusableAtSight(schema: Schema): string | null {
  const refused = refusedAtSight(schema)
  if (refused) return refused.kind === 'unusable' ? refused.why : null
  const wrong = wrongKeyword(withoutDraft(schema))
  return wrong === null ? null : `"${wrong}" has a value in it that is none`
}

function refusedAtSight(schema: Schema): Verdict | null {
  if (isLongerAsJson(schema, LONGEST_SCHEMA) || JSON.stringify(schema).length > LONGEST_SCHEMA)
    return { kind: 'unusable', why: `it is longer than ${LONGEST_SCHEMA.toLocaleString('en')} characters` }
  if ('$async' in schema) return { kind: 'unusable', why: '"$async" is no keyword of JSON Schema' }
  const { $schema = null } = schema
  if ($schema === null || (typeof $schema === 'string' && DRAFTS.has($schema.replace(/#$/, '')))) return null
  return { kind: 'unusable', why: '"$schema" names no draft that is known: leave it out, or name 2020-12' }
}

/** Whatever known draft it names, it is read as one of 2020-12. */
function withoutDraft({ $schema: _, ...schema }: Schema): Record<string, unknown> {
  return schema
}

/** Resolves when the thread is gone. Rejects where none could be started, or the machine is too busy to say anything. */
async function ask(asked: ToSchemaWorker): Promise<Verdict> {
  const worker = start()
  const { promise, resolve, reject } = Promise.withResolvers<Verdict>()
  const costly = () => resolve({ kind: 'costly' })
  const late = setTimeout(
    () => reject(new Error('a thread for a schema was not done in time')),
    LONGEST_BY_THE_CLOCK_MS,
  )
  const began = performance.now()
  const watches = [
    setInterval(() => void isSpent(worker, began).then((spent) => spent && costly()), ASKED_EACH_MS),
    setInterval(() => void isFull(worker).then((full) => full && costly()), MEMORY_ASKED_EACH_MS),
  ]
  try {
    listen(worker, asked, { heard: resolve, costly, failed: reject })
    return await promise
  } finally {
    clearTimeout(late)
    for (const watch of watches) clearInterval(watch)
    await worker.terminate()
  }
}

/** By processor time, as the threads of a crowded machine wait for each other; by the clock where Node (before 24.6) does not tell it. */
async function isSpent(worker: Worker, began: number): Promise<boolean> {
  if (!('cpuUsage' in worker)) return performance.now() - began > LONGEST_MS
  try {
    const { user, system } = await worker.cpuUsage()
    return (user + system) / 1000 > LONGEST_MS
  } catch {
    // It has not begun, or is gone.
    return false
  }
}

async function isFull(worker: Worker): Promise<boolean> {
  try {
    const { used_heap_size, external_memory } = await worker.getHeapStatistics()
    return used_heap_size + external_memory > MOST_BYTES
  } catch {
    return false
  }
}

interface Ears {
  heard(verdict: Verdict): void
  costly(): void
  failed(error: unknown): void
}

function listen(worker: Worker, asked: ToSchemaWorker, { heard, costly, failed }: Ears): void {
  let ready = false
  // Once it has begun, it is the memory of the thread that ends it.
  worker.on('error', (error) => (ready ? costly() : failed(error)))
  worker.on('exit', () => failed(new Error('the thread for a schema ended')))
  worker.on('message', (message: FromSchemaWorker) => {
    if (message.kind !== 'ready') return heard(message)
    ready = true
    try {
      worker.postMessage(asked, asked.given && 'bytes' in asked.given ? [asked.given.bytes.buffer] : [])
    } catch {
      // The value is nested too deeply to be handed over.
      costly()
    }
  })
}
