// JSON schemas that workflows bring, and values judged by them. Nobody trusts such a schema: it is bounded in size, and compiled and used in
// a thread of its own that is ended when it takes too long. What a verdict means for a node or a request is left to them.
import { SHARE_ENV, Worker } from 'node:worker_threads'
import { isLongerAsJson, isNestedTooDeep } from '../engine/node-api/values/measure.ts'
import { runToCompletion, type Steps } from '../shared/time-slices.ts'
import { serializeSteps } from '../shared/value-serialization.ts'
import { isSmallValue } from '../shared/value-size.ts'
import { FairSemaphore, type OwnerKey } from '../workers/fair-semaphore.ts'
import { findInvalidKeyword, isSimpleSchema } from './simple-schema.ts'

export type JsonSchemaObject = Readonly<Record<string, unknown>>

export type SchemaVerdict =
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
export type RunSteps = <T>(steps: Steps<T>) => T | Promise<T>

export type FromSchemaWorker = { readonly kind: 'ready' } | SchemaVerdict

/** How long a schema may be as JSON text. */
export const MAX_SCHEMA_CHARACTERS = 65_536
/** How much processor time a thread may take for a schema and its value, its start included, in milliseconds; and how often it is asked. */
const MAX_CPU_MS = 1_500
const CPU_CHECK_MS = 250
/**
 * How much memory it may take, how often it is asked, and where the engine itself would end it. That limit is far off: the engine
 * grants a thread 16 MiB to come to its end, and takes the whole process with it where that is not enough.
 */
const MAX_HEAP_BYTES = 128 * 1024 * 1024
const HEAP_CHECK_MS = 20
const ENGINE_HEAP_MIB = 1_024
/** How long it may take by the clock: beyond that the machine is too busy, and nothing is known of the schema. */
const MAX_WALL_CLOCK_MS = 60_000
/** How many are judged at the same time. Users take turns, and one more is for another user where one has both. */
const MAX_THREADS = 2
/** How many schemas are remembered as usable: a stream waits by the same one for each of its items. */
const MAX_CACHED_SCHEMAS = 200

const DRAFTS = new Set([
  'http://json-schema.org/draft-07/schema',
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema',
])

/** Sources run as they are, or compiled. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './schema-worker.ts' : './schema-worker.js', import.meta.url)

/** Its output streams are its own and nobody reads them. It prints nothing. */
function startThread(): Worker {
  return new Worker(SCRIPT, {
    resourceLimits: { maxOldGenerationSizeMb: ENGINE_HEAP_MIB },
    env: SHARE_ENV,
    execArgv: [],
    stdout: true,
    stderr: true,
  })
}

/** For whom a value is judged, and what does the work that a large one makes. */
interface ValidationOptions {
  readonly owner?: OwnerKey
  readonly runSteps?: RunSteps
}

const NO_OWNER = ''

export class SchemaValidator {
  readonly #permits = new FairSemaphore(MAX_THREADS)
  readonly #verdictsByText = new Map<string, Promise<SchemaVerdict>>()
  /** Those that are judged now, by owner and text: nobody waits for a turn of another user. */
  readonly #pendingVerdicts = new Map<string, Promise<SchemaVerdict>>()

  /** How many of an owner wait to be judged. */
  countWaiting(owner: OwnerKey): number {
    return this.#permits.countWaiting(owner)
  }

  /** Whether a schema can judge values at all: never `unfit`. Waits no longer for its turn than until `signal` aborts, and rejects then. */
  validateSchema(schema: JsonSchemaObject, owner = NO_OWNER, signal?: AbortSignal): Promise<SchemaVerdict> {
    const refused = refuseUnusable(schema)
    if (refused) return Promise.resolve(refused)
    const bare = removeDraft(schema)
    if (isSimpleSchema(bare)) return Promise.resolve({ kind: 'fits' })
    const text = JSON.stringify(bare)
    const owned = JSON.stringify(owner) + text
    const known = this.#verdictsByText.get(text) ?? this.#pendingVerdicts.get(owned)
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

  #share(owned: string, verdict: Promise<SchemaVerdict>): void {
    this.#pendingVerdicts.set(owned, verdict)
    const end = () => this.#pendingVerdicts.delete(owned)
    verdict.then(end, end)
  }

  #remember(text: string, verdict: Promise<SchemaVerdict>): void {
    if (this.#verdictsByText.size >= MAX_CACHED_SCHEMAS)
      this.#verdictsByText.delete(this.#verdictsByText.keys().next().value!)
    this.#verdictsByText.set(text, verdict)
  }

  async validateValue(
    schema: JsonSchemaObject,
    value: unknown,
    { owner = NO_OWNER, runSteps: doing = runToCompletion }: ValidationOptions = {},
  ): Promise<SchemaVerdict> {
    const refused = refuseUnusable(schema)
    if (refused) return refused
    const bare = removeDraft(schema)
    // What is nested too deeply is found where it is handed over.
    const isSmall = isNestedTooDeep(value) || isSmallValue(value)
    return this.#inTurn(owner, isSmall ? { schema: bare, given: { value } } : () => encodeRequest(bare, value, doing))
  }

  /** What is asked may be made when its turn has come. */
  async #inTurn(
    owner: OwnerKey,
    asked: ToSchemaWorker | (() => Promise<ToSchemaWorker | null>),
    signal = new AbortController().signal,
  ): Promise<SchemaVerdict> {
    await this.#permits.acquire(owner, signal)
    try {
      const made = typeof asked === 'function' ? await asked() : asked
      return made ? await runInThread(made) : { kind: 'costly' }
    } finally {
      this.#permits.release(owner)
    }
  }
}

/** Null where the value is nested too deeply to be handed over. */
async function encodeRequest(
  schema: Record<string, unknown>,
  value: unknown,
  doing: RunSteps,
): Promise<ToSchemaWorker | null> {
  try {
    return { schema, given: { bytes: await doing(serializeSteps(value)) } }
  } catch {
    return null
  }
}

/** Whether a schema is so plain and small that it can judge values for sure. False: that is not known. */
export function isKnownUsableSchema(schema: JsonSchemaObject): boolean {
  return refuseUnusable(schema) === null && isSimpleSchema(removeDraft(schema))
}

/** Why a schema can judge nothing, as far as that shows without compiling it; the end of a sentence that begins with it. */
export function findSchemaProblem(schema: JsonSchemaObject): string | null {
  const refused = refuseUnusable(schema)
  if (refused) return refused.kind === 'unusable' ? refused.why : null
  const wrong = findInvalidKeyword(removeDraft(schema))
  return wrong === null ? null : `"${wrong}" has a value in it that is none`
}

function refuseUnusable(schema: JsonSchemaObject): SchemaVerdict | null {
  if (isLongerAsJson(schema, MAX_SCHEMA_CHARACTERS) || JSON.stringify(schema).length > MAX_SCHEMA_CHARACTERS)
    return { kind: 'unusable', why: `it is longer than ${MAX_SCHEMA_CHARACTERS.toLocaleString('en')} characters` }
  if ('$async' in schema) return { kind: 'unusable', why: '"$async" is no keyword of JSON Schema' }
  const { $schema = null } = schema
  if ($schema === null || (typeof $schema === 'string' && DRAFTS.has($schema.replace(/#$/, '')))) return null
  return { kind: 'unusable', why: '"$schema" names no draft that is known: leave it out, or name 2020-12' }
}

/** Whatever known draft it names, it is read as one of 2020-12. */
function removeDraft({ $schema: _, ...schema }: JsonSchemaObject): Record<string, unknown> {
  return schema
}

/** Resolves when the thread is gone. Rejects where none could be started, or the machine is too busy to say anything. */
async function runInThread(asked: ToSchemaWorker): Promise<SchemaVerdict> {
  const worker = startThread()
  const { promise, resolve, reject } = Promise.withResolvers<SchemaVerdict>()
  const costly = () => resolve({ kind: 'costly' })
  const late = setTimeout(() => reject(new Error('a thread for a schema was not done in time')), MAX_WALL_CLOCK_MS)
  const began = performance.now()
  const watches = [
    setInterval(() => void hasUsedUpTime(worker, began).then((spent) => spent && costly()), CPU_CHECK_MS),
    setInterval(() => void hasUsedUpMemory(worker).then((full) => full && costly()), HEAP_CHECK_MS),
  ]
  try {
    listenToThread(worker, asked, { onVerdict: resolve, onCostly: costly, onFailure: reject })
    return await promise
  } finally {
    clearTimeout(late)
    for (const watch of watches) clearInterval(watch)
    await worker.terminate()
  }
}

/** By processor time, as the threads of a crowded machine wait for each other; by the clock where Node (before 24.6) does not tell it. */
async function hasUsedUpTime(worker: Worker, began: number): Promise<boolean> {
  if (!('cpuUsage' in worker)) return performance.now() - began > MAX_CPU_MS
  try {
    const { user, system } = await worker.cpuUsage()
    return (user + system) / 1000 > MAX_CPU_MS
  } catch {
    // It has not begun, or is gone.
    return false
  }
}

async function hasUsedUpMemory(worker: Worker): Promise<boolean> {
  try {
    const { used_heap_size, external_memory } = await worker.getHeapStatistics()
    return used_heap_size + external_memory > MAX_HEAP_BYTES
  } catch {
    return false
  }
}

interface ThreadListener {
  onVerdict(verdict: SchemaVerdict): void
  onCostly(): void
  onFailure(error: unknown): void
}

function listenToThread(
  worker: Worker,
  asked: ToSchemaWorker,
  { onVerdict: heard, onCostly: costly, onFailure: failed }: ThreadListener,
): void {
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
