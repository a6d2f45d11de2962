// Stored data for tests of the commands that check, copy and restore it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { assetStorageKey, contentKey, sha256OfBytes } from '../../src/assets/storage-keys.ts'
import { CommandError, type Terminal } from '../../src/cli/shared/terminal.ts'
import { type Config, type Environment, readConfig } from '../../src/config.ts'
import { insertAsset } from '../../src/db/assets/rows.ts'
import { saveGraph } from '../../src/db/graphs.ts'
import { insertJobEvent } from '../../src/db/jobs/events.ts'
import { insertJournalPage } from '../../src/db/jobs/journal.ts'
import { insertJob } from '../../src/db/jobs/rows.ts'
import { Store, type Tx } from '../../src/db/store.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { StartError } from '../../src/start-error.ts'
import { jobRow } from '../helpers/store.ts'

const AT = '2026-01-01T00:00:00.000Z'
const GRAPH = '{"nodes":[],"edges":[]}'

/** A sound data folder: completed jobs 1 to 300 with three events each, a running job 301, and an asset. Returns the asset's file. */
export async function soundFolder(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const bytes = Buffer.from('the bytes of an asset')
  const content_key = contentKey('1', sha256OfBytes(bytes))
  const file = join(folder, 'storage', 'objects', ...content_key.split('/'))
  await using store = await Store.open(join(folder, 'svc.db'))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
  await store.write((tx) => {
    for (let key = 1; key <= 300; key++) putCompleted(tx, key)
    putRunning(tx, 301)
    insertAsset(tx, {
      id: 'a1',
      user_id: '1',
      workspace_id: null,
      parent_id: null,
      name: 'note.txt',
      content_type: 'text/plain',
      size: bytes.length,
      sha256: sha256OfBytes(bytes),
      storage_key: assetStorageKey('1', 'a1', 'txt'),
      content_key,
      thumb_key: null,
      metadata: '{}',
      previewed: 1,
      workflow_id: null,
      job_id: null,
      node_id: null,
      created_at: AT,
      updated_at: AT,
    })
  })
  return file
}

const graph_sha256 = sha256(GRAPH)

function putCompleted(tx: Tx, key: number): void {
  saveGraph(tx, graph_sha256, GRAPH)
  const name = `name ${key} `.repeat(20)
  insertJob(tx, {
    ...jobRow(key, { graph_sha256, name, status: 'completed', last_sequence: 3 }),
    ...{ result: '{}', started_at: AT, finished_at: AT },
  })
  putEvents(tx, key, 'job_status', 'node_status', 'job_terminal')
}

function putRunning(tx: Tx, key: number): void {
  insertJob(tx, jobRow(key, { graph_sha256, status: 'running', last_sequence: 2, started_at: AT }))
  putEvents(tx, key, 'job_status', 'job_status')
  insertJournalPage(tx, { job_key: key, page: 0, attempt: 1, body: new Uint8Array(10) })
}

function putEvents(tx: Tx, job_key: number, ...types: string[]): void {
  for (const [at, type] of types.entries())
    insertJobEvent(tx, { job_key, sequence: at + 1, type, payload: '{}', created_at: AT })
}

type Command = (args: readonly string[], terminal: Terminal, config: Config) => Promise<number>

/** Runs a command in this process. A refusal becomes its message and exit code. */
export async function command(run: Command, args: readonly string[], environment: Environment) {
  const texts = { stdout: '', stderr: '' }
  const output = (name: 'stdout' | 'stderr') => ({
    write(text: string, done?: () => void) {
      texts[name] += text
      done?.()
      return true
    },
  })
  const terminal: Terminal = {
    stdin: Readable.from([]),
    stdout: output('stdout'),
    stderr: output('stderr'),
    environment,
    stop: new AbortController().signal,
  }
  try {
    const code = await run(args, terminal, readConfig(environment, { host: '127.0.0.1', port: 0 }))
    return { code, ...texts }
  } catch (error) {
    if (!(error instanceof CommandError) && !(error instanceof StartError)) throw error
    const problems = error instanceof CommandError ? error.problems.map(({ message }) => `\n${message}`) : []
    return {
      code: error instanceof CommandError ? error.code : 1,
      ...texts,
      stderr: `${error.message}${problems.join('')}\n`,
    }
  }
}
