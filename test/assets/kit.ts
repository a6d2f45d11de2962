// The assets of one test, in a folder of its own, with a clock that the test controls.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AssetDetails } from '../../src/assets/asset-store.ts'
import { AssetStore } from '../../src/assets/asset-store.ts'
import { BlobStore } from '../../src/assets/stores/blob-store.ts'
import { LocalObjectStore } from '../../src/assets/stores/local-object-store.ts'
import { UrlSigner } from '../../src/assets/url-signer.ts'
import { type Platform, systemPlatform } from '../../src/platform.ts'
import { openStore, type TestStore } from '../helpers/store.ts'

export const ADA = { user_id: 'ada', workspace_id: null }
export const BOB = { user_id: 'bob', workspace_id: null }
export const HOUR = 3_600_000

export interface Clock extends Platform {
  /** Milliseconds since the epoch. */
  ms: number
}

export function clock(): Clock {
  const platform: Clock = {
    ...systemPlatform(),
    ms: Date.parse('2026-01-01T00:00:00Z'),
    now: () => platform.ms,
    timestamp: () => new Date(platform.ms).toISOString(),
  }
  return platform
}

export interface Kit extends AsyncDisposable {
  readonly db: TestStore
  readonly root: string
  readonly platform: Clock
  readonly objects: LocalObjectStore
  readonly contents: BlobStore
  readonly assets: AssetStore
  /** Returns the names of the files with content, and of those that are being written. */
  files(): { kept: string[]; incoming: string[] }
}

export async function openKit(): Promise<Kit> {
  const db = await openStore()
  const root = join(db.path, '..', 'storage')
  const platform = clock()
  const objects = new LocalObjectStore(root, platform.now)
  const contents = new BlobStore(db.store, objects, platform.now)
  const assets = new AssetStore({
    store: db.store,
    contents,
    platform,
    signatures: new UrlSigner(new Uint8Array(32)),
    secret: new Uint8Array(32),
  })
  return {
    db,
    root,
    platform,
    objects,
    contents,
    assets,
    files: () => ({ kept: filesOf(join(root, 'objects')), incoming: filesOf(join(root, 'incoming')) }),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
}

export function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort()
}

export function about(more: Partial<AssetDetails> = {}): AssetDetails {
  return { content_type: null, workflow_id: 'wf', job_id: 'job', node_id: 'node', ...more }
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

export async function textOf(stream: AsyncIterable<Uint8Array> | null): Promise<string | null> {
  if (stream === null) return null
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
