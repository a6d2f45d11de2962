// Damage at random places of a database that was closed cleanly, and of one that a kill left with its log: it is found, or harmless; nothing that is
// not what was stored is served.
import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { Health, RunResult, Workflow } from '../../generated/types.ts'
import { StartError } from '../../src/start-error.ts'
import { damageFolder } from '../helpers/damage.ts'
import { call } from '../helpers/http.ts'
import { serve } from '../helpers/process.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, type TestServer, temporaryFolder } from '../helpers/server.ts'
import { seededRandom } from './seeded.ts'

/** A hundredth part of what `make test-long` does. */
const TRIALS = scaled(3)

type Truth = ReadonlyMap<string, string>
type Serving = Pick<TestServer, 'url'>

/** How a folder is filled, by how the server that did it ended. */
const ENDS: Readonly<Record<string, (folder: string) => Promise<Truth>>> = {
  'was closed': async (data_dir) => {
    await using server = await startServer({ data_dir })
    return await fill(server)
  },
  'a kill left': async (data_dir) => {
    await using server = await serve(data_dir)
    return await fill(server)
  },
}

describe('damage of a data folder', () => {
  const seed = Number(process.env.SVC_TEST_SEED ?? Date.now() % 1_000_000_007)

  for (const [end, filled] of Object.entries(ENDS))
    test(`that ${end} is found or harmless, ${TRIALS} times out of the seed ${seed}`, async () => {
      const sound = temporaryFolder()
      const random = seededRandom(seed)
      try {
        const truth = await filled(sound)
        for (let trial = 0; trial < TRIALS; trial++) {
          const folder = temporaryFolder()
          try {
            cpSync(sound, folder, { recursive: true })
            const what = damageFolder(folder, random)
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
async function fill(server: Serving): Promise<Truth> {
  const paths = ['/api/workflows', '/api/jobs?limit=200', '/api/tokens', '/api/threads', '/api/settings']
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

async function read(server: Serving, path: string): Promise<{ status: number; text: string; body: unknown }> {
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
