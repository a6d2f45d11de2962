// Rewrites the file of a database to its minimal length, and so that it can shrink later. A thread does the work; this module checks for disk space
// first, reports the progress, and keeps the old file if anything fails.
import { rmSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Durability } from '../connection.ts'
import { describeDamages, type StructureDamage } from '../integrity/structure-damage.ts'
import { IN_MEMORY } from '../open-database.ts'
import { Store, type StoreOptions } from '../store.ts'
import { type DatabaseFileSize, readDatabaseFileSize } from './database-size.ts'

export interface CompactionWorkerData {
  readonly path: string
  /** The path of the new file, beside the old one: the next attempt removes it. */
  readonly to: string
  readonly durability: Durability
}

/** The outcome of the thread: `busy` if another program has the database open, `damaged` if a copy would lack rows. */
export type CompactionResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'damaged'; damages: readonly StructureDamage[] }
  | { readonly kind: 'failed'; message: string }

export type CompactionOutcome = CompactionResult | { readonly kind: 'no_room'; readonly missing_bytes: number }

/** Receives the number of written bytes, and of all bytes. */
export type CompactionProgressListener = (written: number, of: number) => void

/** The largest database that a start rewrites, in bytes: a gigabyte takes about ten seconds. */
const AT_A_START = 4 * 1024 ** 3
/** Free bytes that must remain beside the complete new file. */
const SPARE = 64 * 1024 * 1024
const PROGRESS_INTERVAL_MS = 5_000

const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? './compaction-worker.ts' : './compaction-worker.js',
  import.meta.url,
)

export interface ServerStoreOptions extends StoreOptions {
  /** Larger databases are not rewritten at a start. */
  max_compacted_bytes?: number
  /** The interval of log lines about the progress, in milliseconds. */
  progress_interval_ms?: number
}

/**
 * Opens the store of a server. The database of an older version cannot shrink: it is rewritten first, if there is room for the copy and it takes less
 * than minutes. Otherwise the start continues without, and the log says why.
 * @throws StartError as `Store.open`
 */
export async function openServerStore(path: string, options: ServerStoreOptions): Promise<Store> {
  const { max_compacted_bytes = AT_A_START } = options
  // Finds the damages of a small database. The thread checks any database before it copies.
  const store = await Store.open(path, options)
  if (path === IN_MEMORY || store.canShrink) return store
  const { page_bytes, pages, free_pages } = store.space
  const bytes = (pages - free_pages) * page_bytes
  if (bytes > max_compacted_bytes) {
    options.log?.info(
      { bytes },
      `${path} does not shrink when rows are removed: stop the server and run "svc compact" once`,
    )
    return store
  }
  await store[Symbol.asyncDispose]()
  const damages = await compactAtStart(path, options)
  return Store.open(path, { ...options, damages })
}

/** Returns the damages that prevented the rewriting. */
async function compactAtStart(
  path: string,
  { durability = 'full', log, progress_interval_ms = PROGRESS_INTERVAL_MS }: ServerStoreOptions,
): Promise<readonly StructureDamage[]> {
  log?.info(`${path} is rewritten once, so that it can shrink: the server starts after that`)
  const progressed: CompactionProgressListener = (written, of) =>
    log?.info({ percent: Math.min(99, Math.floor((100 * written) / of)) }, `${path} is being rewritten`)
  const outcome = await compactDatabase(path, durability, progressed, progress_interval_ms)
  if (outcome.kind === 'done') log?.info({ bytes: statSync(path).size }, `${path} is rewritten, and can shrink now`)
  else log?.warn(`${path} cannot shrink yet, and the next start tries again: ${describeCompactionFailure(outcome)}`)
  return outcome.kind === 'damaged' ? outcome.damages : []
}

/** The reason why a database was not rewritten, as a part of a sentence. */
export function describeCompactionFailure(outcome: Exclude<CompactionOutcome, { kind: 'done' }>): string {
  if (outcome.kind === 'no_room') return `the disk lacks ${outcome.missing_bytes} bytes of room for a second copy`
  if (outcome.kind === 'damaged')
    return `it is damaged, and a copy would lack unreachable rows (${describeDamages(outcome.damages)})`
  return outcome.kind === 'busy' ? 'another program has it open' : `it could not be copied (${outcome.message})`
}

/**
 * Rewrites the database at `path`, which no other connection has open. The old file stays unchanged until the new file is complete and durable; then
 * a rename replaces it atomically.
 */
export async function compactDatabase(
  path: string,
  durability: Durability,
  progressed: CompactionProgressListener,
  progress_interval_ms = PROGRESS_INTERVAL_MS,
): Promise<CompactionOutcome> {
  const to = `${path}.rewriting`
  // Leftovers of an interrupted attempt.
  for (const ending of ['', '-journal']) rmSync(to + ending, { force: true })
  const bytes = usedBytes(readDatabaseFileSize(path))
  const missing_bytes = bytes + SPARE - freeBytes(dirname(path))
  if (missing_bytes > 0) return { kind: 'no_room', missing_bytes }
  let written = 0
  const report = () => {
    // At the end the file has another name.
    written = statSync(to, { throwIfNoEntry: false })?.size ?? written
    progressed(written, bytes)
  }
  const timer = setInterval(report, progress_interval_ms)
  try {
    return await compactInThread({ path, to, durability })
  } finally {
    clearInterval(timer)
    for (const ending of ['', '-journal']) rmSync(to + ending, { force: true })
  }
}

function usedBytes({ page_bytes, pages, free_pages }: DatabaseFileSize): number {
  return page_bytes * (pages - free_pages)
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

function compactInThread(workerData: CompactionWorkerData): Promise<CompactionResult> {
  return new Promise((resolve) => {
    // The worker has output streams of its own, which are not read. The worker prints nothing.
    const worker = new Worker(SCRIPT, { workerData, execArgv: [], stdout: true, stderr: true })
    worker.once('message', resolve)
    worker.once('error', ({ message }) => resolve({ kind: 'failed', message }))
    worker.once('exit', () => resolve({ kind: 'failed', message: 'its thread ended' }))
  })
}
