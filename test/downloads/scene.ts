// Helpers for tests of downloads: a hub, an owner with a listener, and a folder.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test as plain } from 'node:test'
import type { DownloadUpdateFrame } from '../../generated/types.ts'
import { DownloadService } from '../../src/downloads/service.ts'
import { createLog } from '../../src/log.ts'
import { startHub, type TestHub } from '../helpers/hub.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

export const OWNER = { user_id: '1', workspace_id: null }
export const OTHER = { user_id: '2', workspace_id: null }
export const REPO = 'maker/model'
export const BIG = randomBytes(300_000)
export const SMALL = Buffer.from('{"small": true}')

export interface Scene {
  hub: TestHub
  downloads: DownloadService
  folder: string
  /** All updates that the owner received. */
  told: DownloadUpdateFrame[]
  /** Starts a download and waits for its end. */
  pull(more?: Partial<Parameters<DownloadService['start']>[1]>, key?: string | null): Promise<DownloadUpdateFrame>
  /** Returns the content of a file of the repository, or null. */
  read(path: string): Buffer | null
}

export function test(
  name: string,
  body: (scene: Scene) => Promise<void>,
  allow: readonly string[] = ['127.0.0.0/8'],
): void {
  plain(name, { timeout: 20_000 }, async () => {
    await using hub = await startHub({
      [REPO]: { 'big.gguf': { bytes: BIG }, 'deep/config.json': { bytes: SMALL, lfs: false } },
    })
    const folder = temporaryFolder()
    await using downloads = new DownloadService({
      folder,
      hub_url: hub.url,
      allow,
      log: createLog('silent'),
      pause_ms: 1,
      silence_ms: 2_000,
      list_ms: 2_000,
    })
    const told: DownloadUpdateFrame[] = []
    downloads.follow(OWNER, {}, (update) => told.push(update))
    const pull: Scene['pull'] = async (more = {}, key = null) => {
      const from = told.length
      downloads.start(OWNER, { repo_id: REPO, path: null, model_type: 'x', allow: null, ignore: [], ...more }, key)
      return until('the end', () => told.slice(from).find(({ status }) => status !== 'start' && status !== 'progress'))
    }
    const read = (path: string) => {
      const file = join(folder, REPO, path)
      return existsSync(file) ? readFileSync(file) : null
    }
    try {
      await body({ hub, downloads, folder, told, pull, read })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

/** A fault of requests for files only, which it counts. */
export function withLists(fault: TestHub['fault']): TestHub['fault'] {
  return (request, count) => (request.path.startsWith('/api/') ? undefined : fault(request, count))
}
