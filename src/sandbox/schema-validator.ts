// Validates values against JSON schemas of workflows. Such schemas are untrusted: their size is limited, and a thread that is ended when it
// takes too long compiles and runs them. Callers decide what a verdict means.
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { isLongerAsJson } from '../engine/node-api/values/json-length.ts'
import { isNestedTooDeep } from '../engine/node-api/values/value-excess.ts'
import { OwnerCache } from '../shared/owner-cache.ts'
import { runToCompletion, type Steps } from '../shared/time-slices.ts'
import { serializeSteps } from '../shared/value-serialization.ts'
import { isSmallValue } from '../shared/value-size.ts'
import { FairSemaphore, type OwnerKey } from '../workers/fair-semaphore.ts'
import { findInvalidKeyword, isSimpleSchema } from './simple-schema.ts'

export type JsonSchemaObject = Readonly<Record<string, unknown>>

export type SchemaVerdict =
  | { readonly kind: 'fits' }
  /** The problems of the value, up to a limit; `path` is a JSON pointer within the value. */
  | { readonly kind: 'unfit'; readonly problems: readonly { readonly path: string; readonly message: string }[] }
  /** The schema itself is invalid; `why` completes a sentence that begins with the schema. */
  | { readonly kind: 'unusable'; readonly why: string }
  /** Validation exceeds the limit of time or memory. */
  | { readonly kind: 'costly' }

/** `given` is null to validate only the schema. A large value is passed as serialized bytes. */
export interface ToSchemaWorker {
  readonly schema: Record<string, unknown>
  readonly given: { readonly value: unknown } | { readonly bytes: Uint8Array<ArrayBuffer> } | null
}

/** Runs the steps that prepare a large value for validation. */
export type RunSteps = <T>(steps: Steps<T>) => T | Promise<T>

export type FromSchemaWorker = { readonly kind: 'ready' } | SchemaVerdict

/** The length limit of a schema as JSON text. */
export const MAX_SCHEMA_CHARACTERS = 65_536
/** The limit of processor time of a thread, including its start, in milliseconds; and the interval of its checks. */
const MAX_CPU_MS = 1_500
const CPU_CHECK_MS = 250
/**
 * The memory limit, the interval of its checks, and the limit of the engine itself. The latter is far higher: when a thread reaches it, the
 * engine grants 16 MiB for its end, and terminates the whole process if that is not enough.
 */
const MAX_HEAP_BYTES = 128 * 1024 * 1024
const HEAP_CHECK_MS = 20
const ENGINE_HEAP_MIB = 1_024
/** The limit of real time: beyond it the machine is too busy, which says nothing about the schema. */
const MAX_WALL_CLOCK_MS = 60_000
/** The number of concurrent threads. Users take turns; while one user has all threads, there is one more for another. */
const MAX_THREADS = 2
/** The number of verdicts cached for all owners: a stream uses the same schema for each item. */
const MAX_CACHED_SCHEMAS = 200

const DRAFTS = new Set([
  'http://json-schema.org/draft-07/schema',
  'https://json-schema.org/draft/2019-09/schema',
  'https://json-schema.org/draft/2020-12/schema',
])

/** The sources run both as TypeScript and compiled. */
const SCRIPT = new URL(import.meta.url.endsWith('.ts') ? './schema-worker.ts' : './schema-worker.js', import.meta.url)

/**
 * A thread with schemas of users has no secrets of the environment: only the folder of compiled sources, with which it starts in half of the processor
 * time. Node appends a folder for its version, so the parent is passed on.
 */
const COMPILED_SOURCES = getCompileCacheDir()

/** The thread's output streams are separate and not read. It prints nothing. */
export const SCHEMA_THREAD_OPTIONS: WorkerOptions = {
  resourceLimits: { maxOldGenerationSizeMb: ENGINE_HEAP_MIB },
  env: COMPILED_SOURCES === undefined ? {} : { NODE_COMPILE_CACHE: dirname(COMPILED_SOURCES) },
  execArgv: [],
  stdout: true,
  stderr: true,
}

function startThread(): Worker {
  return new Worker(SCRIPT, SCHEMA_THREAD_OPTIONS)
}

/** The user to validate for, and the runner of steps for a large value. */
interface ValidationOptions {
  readonly owner?: OwnerKey
  readonly runSteps?: RunSteps
}

const NO_OWNER = ''

export class SchemaValidator {
  readonly #permits = new FairSemaphore(MAX_THREADS)
  /** By owner and text: the time of a validation must not tell an owner which schemas others have. */
  readonly #verdicts = new OwnerCache<Promise<SchemaVerdict>>(MAX_CACHED_SCHEMAS)
  /** Validations in progress, by owner and text: no user waits for another user's turn. */
  readonly #pendingVerdicts = new Map<string, Promise<SchemaVerdict>>()

  /** The number of an owner's waiting validations. */
  countWaiting(owner: OwnerKey): number {
    return this.#permits.countWaiting(owner)
  }

  /** Validates only a schema: the verdict is never `unfit`. Rejects if `signal` aborts while it waits for its turn. */
  validateSchema(schema: JsonSchemaObject, owner = NO_OWNER, signal?: AbortSignal): Promise<SchemaVerdict> {
    const refused = refuseUnusable(schema)
    if (refused) return Promise.resolve(refused)
    const bare = removeDraft(schema)
    if (isSimpleSchema(bare)) return Promise.resolve({ kind: 'fits' })
    const text = JSON.stringify(bare)
    const owned = JSON.stringify(owner) + text
    const known = this.#verdicts.get(owner, text) ?? this.#pendingVerdicts.get(owned)
    if (known) return known
    const verdict = this.#inTurn(owner, { schema: bare, given: null }, signal)
    // A costly verdict is not cached, as the cost varies.
    verdict.then(
      ({ kind }) => kind !== 'costly' && this.#verdicts.set(owner, text, verdict),
      () => {},
    )
    // A validation that may be aborted is not shared.
    if (!signal) this.#share(owned, verdict)
    return verdict
  }

  #share(owned: string, verdict: Promise<SchemaVerdict>): void {
    this.#pendingVerdicts.set(owned, verdict)
    const end = () => this.#pendingVerdicts.delete(owned)
    verdict.then(end, end)
  }

  async validateValue(
    schema: JsonSchemaObject,
    value: unknown,
    { owner = NO_OWNER, runSteps = runToCompletion }: ValidationOptions = {},
  ): Promise<SchemaVerdict> {
    const refused = refuseUnusable(schema)
    if (refused) return refused
    const bare = removeDraft(schema)
    // Too deep nesting is found during serialization.
    const isSmall = isNestedTooDeep(value) || isSmallValue(value)
    return this.#inTurn(
      owner,
      isSmall ? { schema: bare, given: { value } } : () => encodeRequest(bare, value, runSteps),
    )
  }

  /** A function as `request` creates the request once the turn has come. */
  async #inTurn(
    owner: OwnerKey,
    request: ToSchemaWorker | (() => Promise<ToSchemaWorker | null>),
    signal = new AbortController().signal,
  ): Promise<SchemaVerdict> {
    await this.#permits.acquire(owner, signal)
    try {
      const made = typeof request === 'function' ? await request() : request
      return made ? await runInThread(made) : { kind: 'costly' }
    } finally {
      this.#permits.release(owner)
    }
  }
}

/** Null if the value is nested too deeply to be serialized. */
async function encodeRequest(
  schema: Record<string, unknown>,
  value: unknown,
  runSteps: RunSteps,
): Promise<ToSchemaWorker | null> {
  try {
    return { schema, given: { bytes: await runSteps(serializeSteps(value)) } }
  } catch {
    return null
  }
}

/** Whether a schema is so simple and small that it is certainly usable. False: unknown. */
export function isKnownUsableSchema(schema: JsonSchemaObject): boolean {
  return refuseUnusable(schema) === null && isSimpleSchema(removeDraft(schema))
}

/** The reason why a schema is invalid, as far as that shows without compiling it; completes a sentence that begins with the schema. */
export function findSchemaProblem(schema: JsonSchemaObject): string | null {
  const refused = refuseUnusable(schema)
  if (refused) return refused.kind === 'unusable' ? refused.why : null
  const wrong = findInvalidKeyword(removeDraft(schema))
  return wrong === null ? null : `"${wrong}" has an invalid value`
}

function refuseUnusable(schema: JsonSchemaObject): SchemaVerdict | null {
  if (isLongerAsJson(schema, MAX_SCHEMA_CHARACTERS) || JSON.stringify(schema).length > MAX_SCHEMA_CHARACTERS)
    return { kind: 'unusable', why: `it is longer than ${MAX_SCHEMA_CHARACTERS.toLocaleString('en')} characters` }
  if ('$async' in schema) return { kind: 'unusable', why: '"$async" is no keyword of JSON Schema' }
  const { $schema = null } = schema
  if ($schema === null || (typeof $schema === 'string' && DRAFTS.has($schema.replace(/#$/, '')))) return null
  return { kind: 'unusable', why: '"$schema" names no draft that is known: leave it out, or name 2020-12' }
}

/** All known drafts are read as 2020-12. */
function removeDraft({ $schema: _, ...schema }: JsonSchemaObject): Record<string, unknown> {
  return schema
}

/** Resolves after the thread has ended. Rejects if no thread could start, or if the machine is too busy. */
async function runInThread(request: ToSchemaWorker): Promise<SchemaVerdict> {
  const worker = startThread()
  const { promise, resolve, reject } = Promise.withResolvers<SchemaVerdict>()
  const costly = () => resolve({ kind: 'costly' })
  const late = setTimeout(() => reject(new Error('schema validation thread did not finish in time')), MAX_WALL_CLOCK_MS)
  const began = performance.now()
  const watches = [
    setInterval(() => void hasUsedUpTime(worker, began).then((spent) => spent && costly()), CPU_CHECK_MS),
    setInterval(() => void hasUsedUpMemory(worker).then((full) => full && costly()), HEAP_CHECK_MS),
  ]
  try {
    listenToThread(worker, request, { onVerdict: resolve, onCostly: costly, onFailure: reject })
    return await promise
  } finally {
    clearTimeout(late)
    for (const watch of watches) clearInterval(watch)
    await worker.terminate()
  }
}

/** Measures processor time, as threads of a busy machine wait for each other; real time if Node (before 24.6) cannot tell it. */
async function hasUsedUpTime(worker: Worker, began: number): Promise<boolean> {
  if (!('cpuUsage' in worker)) return performance.now() - began > MAX_CPU_MS
  try {
    const { user, system } = await worker.cpuUsage()
    return (user + system) / 1000 > MAX_CPU_MS
  } catch {
    // The thread has not started, or has ended.
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
  request: ToSchemaWorker,
  { onVerdict, onCostly, onFailure }: ThreadListener,
): void {
  let ready = false
  // After the thread has started, an error means that it exceeded its memory.
  worker.on('error', (error) => (ready ? onCostly() : onFailure(error)))
  worker.on('exit', () => onFailure(new Error('schema validation thread ended')))
  worker.on('message', (message: FromSchemaWorker) => {
    if (message.kind !== 'ready') return onVerdict(message)
    ready = true
    try {
      worker.postMessage(request, request.given && 'bytes' in request.given ? [request.given.bytes.buffer] : [])
    } catch {
      // The value is nested too deeply to be cloned.
      onCostly()
    }
  })
}
