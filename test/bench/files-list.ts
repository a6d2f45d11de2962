// Pages of a list of a million assets, and searches in it, one request after the other over one connection. The rows are inserted directly
// into the database of a stopped service. They have no bytes, because lists do not read any.
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import type { AssetPage } from '../../generated/types.ts'
import { nameTrigrams } from '../../src/db/assets/name-trigrams.ts'
import { Store } from '../../src/db/store.ts'
import { refreshChecksums } from '../helpers/checksums.ts'
import { serve } from '../helpers/process.ts'
import type { BenchRow } from './engine.ts'
import { row, took } from './files-kit.ts'
import { inFolder } from './jobs.ts'
import { openRaw } from './raw.ts'
import { shown, sized } from './scale.ts'
import { percentile } from './turns.ts'

const COUNT = sized(1_000_000, 2_000)
const REQUESTS = sized(500, 20)
/** Requests before any is counted, and of each kind before its own are counted. */
const WARM_UP = sized(500, 100)
const FIRST = 5
/** Pages before the deep one. */
const PAGES = sized(1_000, 2)
const FOLDERS = 1_000
const RARE = 10
const INSERTED_AT_ONCE = 10_000

const FAMILIES = ['image/png', 'image/jpeg', 'image/webp', 'text/csv', 'application/pdf', 'audio/wav', 'video/mp4']
const WORDS = ['photo', 'invoice', 'summer', 'report', 'chart', 'draft', 'final', 'scan', 'voice', 'clip']

export function benchAssetLists(): Promise<BenchRow[]> {
  return inFolder(async (data_dir) => {
    await fill(join(data_dir, 'svc.db'))
    await using service = await serve(data_dir)
    using lists = new Lists(`${service.url}/api/assets`)
    const rows: BenchRow[] = []
    for (const [name, query] of await asked(lists)) rows.push(...(await times(lists, name, query)))
    return rows
  })
}

/** The requests and their names, after a warm-up of the service. */
async function asked(lists: Lists): Promise<[string, string][]> {
  for (let i = 0; i < WARM_UP; i += 1) await lists.text('')
  let deep = await lists.page('page_size=500')
  for (let page = 1; page < PAGES && deep.next; page += 1) deep = await lists.page(`page_size=500&cursor=${deep.next}`)
  return [
    ['the first page', ''],
    ['a deep page', `cursor=${deep.next ?? ''}`],
    ['a folder', 'parent_id=folder_7'],
    ['a family', 'content_type=image'],
    ['a media type', 'content_type=application/pdf'],
    ['a text that many names hold', 'q=summer'],
    [`a text that ${RARE} names hold`, 'q=zebrafish'],
    ['a text of two letters', 'q=ph'],
    ['a text that no name holds', 'q=quagga'],
    ['a text and a family', 'q=invoice&content_type=audio'],
  ]
}

async function times(lists: Lists, name: string, query: string): Promise<BenchRow[]> {
  const all: number[] = []
  for (let i = -FIRST; i < REQUESTS; i += 1) {
    const ms = await took(() => lists.text(query))
    if (i >= 0) all.push(ms)
  }
  const what = `${name} of ${shown(COUNT)} assets`
  return [
    row(`${what}, middle`, percentile(all, 0.5), 'ms'),
    row(`${what}, slowest in a hundred`, percentile(all, 0.99), 'ms'),
  ]
}

class Lists implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /** @throws where the request is refused */
  async text(query: string): Promise<string> {
    const outgoing = request(`${this.#url}?${query}`, { agent: this.#agent }).end()
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    const text = Buffer.concat(await answer.toArray()).toString()
    if (answer.statusCode !== 200) throw new Error(`${query}: ${answer.statusCode} ${text}`)
    return text
  }

  async page(query: string): Promise<AssetPage> {
    return JSON.parse(await this.text(query)) as AssetPage
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

async function fill(path: string): Promise<void> {
  await (await Store.open(path))[Symbol.asyncDispose]()
  const db = openRaw(path)
  db.function('name_grams', { deterministic: true }, nameTrigrams)
  const insert = db.prepare(`insert into asset (id, user_id, parent_id, name, content_type, size, sha256, storage_key,
    content_key, metadata, previewed, workflow_id, created_at, updated_at)
    values (?, '1', ?, ?, ?, ?, ?, ?, ?, '{}', 1, ?, ?, ?)`)
  const some = db.transaction((from: number, to: number) => {
    for (let at = from; at < to; at += 1) insert.run(...valuesOf(at))
  })
  for (let at = 0; at < COUNT; at += INSERTED_AT_ONCE) some(at, Math.min(COUNT, at + INSERTED_AT_ONCE))
  refreshChecksums(db)
  db.close()
}

/** A tenth of the assets is at the top level. Every name has two words and a number; a few names have a rare word. */
function valuesOf(at: number): unknown[] {
  const id = `asset_${at.toString(16).padStart(32, '0')}`
  const content_type = FAMILIES[at % FAMILIES.length]!
  const word = (place: number) => WORDS[Math.floor(at / WORDS.length ** place) % WORDS.length]!
  const rare = at % Math.ceil(COUNT / RARE) === 0 ? ' zebrafish' : ''
  const name = `${word(0)} ${word(1)}${rare} ${at}.${content_type.split('/')[1]}`
  const parent_id = at % 10 === 0 ? null : `folder_${at % FOLDERS}`
  const sha256 = at.toString(16).padStart(64, '0')
  const workflow_id = at % 3 === 0 ? `workflow_${at % 100}` : null
  const created_at = new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString()
  const keys = [`1/${id}.bin`, `${sha256.slice(60, 62)}/${sha256.slice(62)}/${sha256}`]
  return [id, parent_id, name, content_type, 1_000 + at, sha256, ...keys, workflow_id, created_at, created_at]
}
