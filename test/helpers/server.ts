// A server for one test, with its own port and data folder, which are gone after the test.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerOverrides } from '../../src/composition/overrides.ts'
import { type Config, type Environment, readConfig } from '../../src/config.ts'
import type { AppContext } from '../../src/context.ts'
import { createLog } from '../../src/log.ts'
import { createServer, type RunningServer } from '../../src/server.ts'
import { giveKey } from './key.ts'
import { giveDatabase } from './migrated.ts'
import { PATIENCE_MS } from './patience.ts'
import { recordReached } from './reached.ts'

export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly data_dir: string
  readonly context: AppContext
  close(drain_ms?: number): Promise<void>
}

export interface TestSettings extends ServerOverrides {
  environment?: Environment
  config?: Partial<Config>
  /** An existing data folder, which stays after the test. */
  data_dir?: string
}

/** Use it as `await using server = await startServer()`. Without a given log it logs nothing. */
export async function startServer(settings: TestSettings = {}): Promise<TestServer> {
  const { data_dir = temporaryFolder() } = settings
  const clean = () => {
    if (settings.data_dir === undefined) rmSync(data_dir, { recursive: true, force: true })
  }
  const server = await started(data_dir, settings).catch((error) => {
    clean()
    throw error
  })
  return {
    url: server.url,
    data_dir,
    context: server.context,
    close: (drain_ms) => server.close(drain_ms),
    async [Symbol.asyncDispose]() {
      await server.close(0)
      recordOperations(server.context)
      clean()
    },
  }
}

/** Records the operations that did what they are for. */
function recordOperations({ metrics }: AppContext): void {
  for (const { labels } of metrics.requests.samples())
    if (Number(labels.status) < 400) recordReached('operation', String(labels.operation))
}

/** Starts the server on a data folder, which gets a database unless the caller provides one. */
async function started(data_dir: string, settings: TestSettings): Promise<RunningServer> {
  const { environment = {}, config, data_dir: kept, ...overrides } = settings
  if (environment.SECRETS_MASTER_KEY === undefined) giveKey(data_dir)
  if (kept === undefined) await giveDatabase(join(data_dir, 'svc.db'))
  const surroundings = { SVC_DATA_DIR: data_dir, SVC_PROBE_LOCAL_MODELS: 'off', ...environment }
  const read = readConfig(surroundings, { host: '127.0.0.1', port: 0 })
  return createServer({ ...read, ...config }, { log: createLog('silent'), ...overrides })
}

/** Creates an empty folder. The caller removes it. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'svc-test-'))
}

/** Polls until `condition` returns a value. Fails with `what` after `ms`. */
export async function until<T>(
  what: string,
  condition: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  ms = PATIENCE_MS,
): Promise<T> {
  const deadline = performance.now() + ms
  for (;;) {
    const value = await condition()
    if (value) return value
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
