// Writes the file of a database anew, so that it is no longer than it has to be and can shrink from then on. A thread does it; this looks for room
// first, tells how far it has come, and leaves the old file in place where anything goes wrong.
import { rmSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Durability } from '../connection.ts'
import { describeDamages, type StructureDamage } from '../integrity/structure-damage.ts'
import { IN_MEMORY } from '../open-database.ts'
import { Store, type StoreOptions } from '../store.ts'
import { type DatabaseFileSize, readDatabaseFileSize } from './database-size.ts'

/** What the thread is started with. */
export interface CompactionWorkerData {
  readonly path: string
  /** Where it writes, beside the file: a name that the next attempt removes. */
  readonly to: string
  readonly durability: Durability
}

/** How the thread ended: `busy` where another program has the database open, `damaged` where a copy would not hold all of its rows. */
export type CompactionResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'damaged'; damages: readonly StructureDamage[] }
  | { readonly kind: 'failed'; message: string }

export type CompactionOutcome = CompactionResult | { readonly kind: 'no_room'; readonly missing_bytes: number }

/** Hears how many bytes of how many are written. */
export type CompactionProgressListener = (written: number, of: number) => void

/** A start takes the time for a file of that many bytes: about ten seconds for each gigabyte. */
const AT_A_START = 4 * 1024 ** 3
/** Room that has to be left when the new file is whole. */
const SPARE = 64 * 1024 * 1024
const PROGRESS_INTERVAL_MS = 5_000

const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? './compaction-worker.ts' : './compaction-worker.js',
  import.meta.url,
)

export interface ServerStoreOptions extends StoreOptions {
  /** Larger databases are not rewritten at a start. */
  max_compacted_bytes?: number
  /** How often the log hears how far that has come, in milliseconds. */
  progress_interval_ms?: number
}

/**
 * Opens the store of a server. A database that an older version made cannot shrink: it is rewritten first, where there is room for its copy and it is
 * not so large that the start would take minutes. Otherwise the start goes on without, and the log says why.
 * @throws StartError as `Store.open`
 */
export async function openServerStore(path: string, options: ServerStoreOptions): Promise<Store> {
  const { max_compacted_bytes = AT_A_START } = options
  // What is wrong with a small database is found here. The thread looks through any, before it copies.
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

/** Gives the damages that kept it from being rewritten. */
async function compactAtStart(
  path: string,
  { durability = 'full', log, progress_interval_ms: told_every_ms = PROGRESS_INTERVAL_MS }: ServerStoreOptions,
): Promise<readonly StructureDamage[]> {
  log?.info(`${path} is rewritten once, so that it can shrink: the server starts after that`)
  const progressed: CompactionProgressListener = (written, of) =>
    log?.info({ percent: Math.min(99, Math.floor((100 * written) / of)) }, `${path} is being rewritten`)
  const outcome = await compactDatabase(path, durability, progressed, told_every_ms)
  if (outcome.kind === 'done') log?.info({ bytes: statSync(path).size }, `${path} is rewritten, and can shrink now`)
  else log?.warn(`${path} does not shrink yet, which the next start tries again: ${describeCompactionFailure(outcome)}`)
  return outcome.kind === 'damaged' ? outcome.damages : []
}

/** Why a database was not rewritten, as a part of a sentence. */
export function describeCompactionFailure(outcome: Exclude<CompactionOutcome, { kind: 'done' }>): string {
  if (outcome.kind === 'no_room') return `the disk lacks ${outcome.missing_bytes} bytes of room for a second copy`
  if (outcome.kind === 'damaged')
    return `it is damaged, and a copy would lack what cannot be reached (${describeDamages(outcome.damages)})`
  return outcome.kind === 'busy' ? 'another program has it open' : `it could not be copied (${outcome.message})`
}

/**
 * Rewrites the database at `path`, which nobody else has open. Until the new file is whole and durable, the old one stays as it is; then it takes
 * the old one's name in one step.
 */
export async function compactDatabase(
  path: string,
  durability: Durability,
  progressed: CompactionProgressListener,
  told_every_ms = PROGRESS_INTERVAL_MS,
): Promise<CompactionOutcome> {
  const to = `${path}.rewriting`
  // An interrupted attempt left it.
  for (const ending of ['', '-journal']) rmSync(to + ending, { force: true })
  const bytes = usedBytes(readDatabaseFileSize(path))
  const missing_bytes = bytes + SPARE - freeBytes(dirname(path))
  if (missing_bytes > 0) return { kind: 'no_room', missing_bytes }
  let written = 0
  const tell = () => {
    // In the end it has another name.
    written = statSync(to, { throwIfNoEntry: false })?.size ?? written
    progressed(written, bytes)
  }
  const timer = setInterval(tell, told_every_ms)
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
    // Its output streams are its own and nobody reads them. It prints nothing.
    const worker = new Worker(SCRIPT, { workerData, execArgv: [], stdout: true, stderr: true })
    worker.once('message', resolve)
    worker.once('error', ({ message }) => resolve({ kind: 'failed', message }))
    worker.once('exit', () => resolve({ kind: 'failed', message: 'its thread ended' }))
  })
}
