// Damage at random places of a database that was closed cleanly: it is found, or harmless; nothing that is not what was stored is served.
import assert from 'node:assert/strict'
import { closeSync, cpSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Health, RunResult, Workflow } from '../../generated/types.ts'
import { StartError } from '../../src/start-error.ts'
import { call } from '../helpers/http.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, type TestServer, temporaryFolder } from '../helpers/server.ts'
import { seededRandom } from './seeded.ts'

/** A hundredth part of what `make test-long` does. */
const TRIALS = scaled(3)
const PAGE = 4096

type Truth = ReadonlyMap<string, string>
type Kind = 'bit' | 'byte' | 'zeroed page' | 'garbled page' | 'swapped pages' | 'cut'
const KINDS: readonly Kind[] = ['bit', 'bit', 'bit', 'byte', 'zeroed page', 'garbled page', 'swapped pages', 'cut']

describe('damage of a database', () => {
  const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000_007)

  test(`is found or harmless, ${TRIALS} times out of the seed ${seed}`, async () => {
    const sound = temporaryFolder()
    const random = seededRandom(seed)
    try {
      const truth = await fill(sound)
      for (let trial = 0; trial < TRIALS; trial++) {
        const folder = temporaryFolder()
        try {
          cpSync(sound, folder, { recursive: true })
          const what = damage(join(folder, 'svc.db'), random)
          const wrong = await servedWrongly(folder, truth)
          assert.deepEqual(wrong, [], `seed ${seed}, trial ${trial}: ${what}`)
        } finally {
          rmSync(folder, { recursive: true, force: true })
        }
      }
    } finally {
      rmSync(sound, { recursive: true, force: true })
    }
  })
})

/** Everything that the server has to tell, by the paths that tell it. */
async function fill(folder: string): Promise<Truth> {
  const paths = ['/api/workflows', '/api/jobs?limit=200', '/api/tokens', '/api/threads', '/api/settings']
  await using server = await startServer({ data_dir: folder })
  for (let at = 0; at < 15; at++) {
    const body = { name: `workflow ${at}`, description: 'd'.repeat(300), graph: { nodes: [], edges: [] } }
    paths.push(`/api/workflows/${(await call<Workflow>(server, 'POST', '/api/workflows', { body })).body.id}`)
    const params = { name: `Ada ${at}`.repeat(20) }
    const run = await call<RunResult>(server, 'POST', '/api/workflows/greeting/run', { body: { params } })
    paths.push(`/api/jobs/${run.body.job_id}`, `/api/jobs/${run.body.job_id}/events`)
    const thread = await call<{ id: string }>(server, 'POST', '/api/threads', { body: { title: `thread ${at}` } })
    await call(server, 'POST', `/api/threads/${thread.body.id}/messages`, { body: { role: 'user', content: 'Hello' } })
    paths.push(`/api/threads/${thread.body.id}`, `/api/threads/${thread.body.id}/messages`)
    await call(server, 'POST', '/api/tokens', { body: { name: `token ${at}`, scopes: ['read'] } })
  }
  const truth = new Map<string, string>()
  for (const path of paths) truth.set(path, (await read(server, path)).text)
  return truth
}

async function read(server: TestServer, path: string): Promise<{ status: number; text: string; body: unknown }> {
  try {
    return await call<unknown>(server, 'GET', path, { headers: { Accept: 'application/json' } })
  } catch (error) {
    // A stream that meets damage breaks off.
    if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') return { status: 500, text: '', body: null }
    throw error
  }
}

/** What is served and is not what was stored; nothing where the damage is found before. */
async function servedWrongly(folder: string, truth: Truth): Promise<string[]> {
  let server: TestServer
  try {
    server = await startServer({ data_dir: folder })
  } catch (error) {
    assert.ok(error instanceof StartError, String((error as Error).stack))
    return []
  }
  await using _running = server
  const others: [path: string, text: string, expected: string, status: number][] = []
  for (const [path, expected] of truth) {
    const { status, text } = await read(server, path)
    if (status < 500 && text !== expected) others.push([path, text, expected, status])
  }
  const health = (await call<Health>(server, 'GET', '/health')).body.services.database
  return others.flatMap(([path, text, expected, status]) =>
    health === 'damaged' && status === 200 && isPartOf(text, expected)
      ? []
      : [`${path} (${health}): ${text.slice(0, 300)}`],
  )
}

/** Whether a list holds nothing but what another one holds. */
function isPartOf(text: string, expected: string): boolean {
  const elements = (list: string) => {
    const value = JSON.parse(list) as unknown
    const found = Array.isArray(value) ? value : Object.values(value as object).find(Array.isArray)
    return (found as unknown[] | undefined)?.map((element) => JSON.stringify(element)) ?? null
  }
  const [some, all] = [elements(text), elements(expected)]
  return some !== null && all !== null && some.every((element) => all.includes(element))
}

/** Changes the file, and says how. */
function damage(path: string, random: () => number): string {
  const file = openSync(path, 'r+')
  const { size } = fstatSync(file)
  const below = (count: number) => Math.floor(random() * count)
  const kind = KINDS[below(KINDS.length)]!
  const at = below(size)
  const page = below(size / PAGE) * PAGE
  const bytes = (from: number, count: number) => {
    const found = Buffer.alloc(count)
    readSync(file, found, 0, count, from)
    return found
  }
  const put = (found: Buffer, to: number) => void writeSync(file, found, 0, found.length, to)
  const acts: Readonly<Record<Kind, () => void>> = {
    bit: () => put(Buffer.from([bytes(at, 1)[0]! ^ (1 << below(8))]), at),
    byte: () => put(Buffer.from([below(256)]), at),
    'zeroed page': () => put(Buffer.alloc(PAGE), page),
    'garbled page': () => put(Buffer.from(Array.from({ length: PAGE }, () => below(256))), page),
    'swapped pages': () => {
      const other = below(size / PAGE) * PAGE
      const [one, two] = [bytes(page, PAGE), bytes(other, PAGE)]
      put(one, other)
      put(two, page)
    },
    cut: () => ftruncateSync(file, at),
  }
  acts[kind]()
  closeSync(file)
  return `${kind} at ${at}, page ${page / PAGE + 1} of ${size / PAGE}`
}
