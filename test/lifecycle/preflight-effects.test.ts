// Tests that a preflight leaves nothing behind: no row of any table, no file, no connection, no call that costs, no place in the queue.
// own-process: it looks at all connections of its process.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import net, { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Database from 'better-sqlite3'
import type { Statement } from '../../src/db/statement.ts'
import type { Store } from '../../src/db/store.ts'
import type { NodeRuntime } from '../../src/lifecycle/preflight/probes.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { graph, node, testType, withTypes } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { dollars, pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { type Client, connect } from '../helpers/socket.ts'
import { stored as storedAsset } from '../http/storage-kit.ts'
import { stored } from '../sockets/kit.ts'
import { preflight } from './preflight-kit.ts'

/** A server that the nodes would call if they ran. */
const called = createServer((socket) => {
  connections++
  socket.destroy()
})
let connections = 0

/** Every connection that this process opens, except those of the test to its server. */
const opened: number[] = []
const { connect: original } = net.Socket.prototype
const priced = pricedProvider({ models: { small: dollars(1, 2, 0.1) } })
const runtime: NodeRuntime = { name: 'there', title: 'There', status: async () => 'available' }

let server: TestServer
let client: Client
let requests: object[]
before(async () => {
  await new Promise<void>((resolve) => called.listen(0, '127.0.0.1', resolve))
  server = await startServer({
    providers: [priced],
    runtimes: [runtime],
    registry: withTypes(testType('test.Runtime', { required_runtimes: ['there', 'gone'], run: () => ({}) })),
    environment: { SVC_HTTP_NODE_ALLOW: '127.0.0.1/32', SVC_SECRET_KEY: 'the-value-of-a-key' },
  })
  client = await connect(server)
  net.Socket.prototype.connect = function (this: net.Socket, ...args: unknown[]) {
    opened.push(portOf(args))
    return (original as (...all: unknown[]) => net.Socket).apply(this, args)
  } as typeof original
  requests = await everyKind()
})
after(async () => {
  net.Socket.prototype.connect = original
  for (const watcher of watchers) watcher.close()
  await client[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await new Promise((resolve) => called.close(resolve))
})

/** The arguments of `connect` differ by caller: the options may lie in a list of their own. */
function portOf(args: readonly unknown[]): number {
  const [first] = args.flat()
  if (typeof first === 'number') return first
  return Number((first as { port?: unknown } | undefined)?.port ?? Number.NaN)
}

function elsewhere(): number[] {
  const own = Number(new URL(server.url).port)
  return opened.filter((port) => port !== own)
}

/** Runs of all nodes with an effect, and of graphs that cannot run. */
async function everyKind(): Promise<object[]> {
  const url = `http://127.0.0.1:${(called.address() as AddressInfo).port}/`
  const asset = await storedAsset(server, 'hello')
  const inner = await stored(server, graph([node('get', 'http.Request', { url, method: 'POST', body: 'x' })], []))
  const all = graph(
    [
      node('in', 'input.Any', { name: 'x', value: 1 }),
      node('get', 'http.Request', { url, headers: { a: '{{secret:KEY}}', b: '{{secret:ABSENT}}' } }),
      node('pages', 'http.Pages', { url }),
      node('ask', 'chat.Complete', { model: 'priced/small', prompt: 'x' }),
      node('echo', 'chat.Complete', { model: 'builtin/echo', prompt: 'x' }),
      node('code', 'code.JavaScript', { code: 'return {}' }),
      node('person', 'human.Approval', { message: 'x' }),
      node('call', 'workflow.Call', { workflow_id: inner }),
      node('load', 'asset.Load', { asset: `asset://${asset.id}` }),
      node('run', 'test.Runtime'),
      node('out', 'output.Output', { name: 'out' }),
    ],
    ['in.output->out.value'],
  )
  const workflow_id = await stored(server, all)
  const broken = await stored(server, graph([node('a', 'no.Such'), ...all.nodes], []))
  const more = [
    { workflow_id },
    { workflow_id, inputs: { x: [{ asset_id: asset.id }, '/api/storage/temp/1/none.txt'], unknown: 1 } },
    { workflow_id, workflow_etag: 'other', execution_target: { kind: 'local', concurrent: true } },
    { workflow_id, execution_target: { kind: 'worker', worker_id: 'w' } },
    { workflow_id: broken },
    { workflow_id: inner },
  ]
  return ['static', 'availability', 'execution'].flatMap((level) => more.map((one) => ({ ...one, level })))
}

function query(sql: string): Statement<readonly unknown[], Record<string, unknown>> {
  return { sql, bind: (params) => [...params] }
}

/** Returns every row of every table, and how many rows this connection has ever changed. */
function dumped(store: Store): string {
  return store.read((tx) => {
    const tables = tx.all(query(`select name from sqlite_schema where type = 'table' order by name`), [])
    assert.ok(tables.length > 10)
    const rows = tables.map(({ name }) => tx.all(query(`select * from "${String(name)}"`), []))
    const changes = tx.all(query('select total_changes() as total'), [])
    return JSON.stringify([tables, rows, changes], (_key, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
    )
  })
}

const watchers: Database.Database[] = []

/** Returns a number that changes with every commit of another connection. */
function commitsOf(folder: string): () => unknown {
  const watcher = new Database(join(folder, 'svc.db'), { readonly: true })
  watchers.push(watcher)
  return () => watcher.pragma('data_version', { simple: true })
}

/** Returns all files except those of the database, which checkpoints its log at any time. */
function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('svc.db'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => `${path} ${sha256(readFileSync(path).toString('base64'))}`)
    .sort()
}

test('a preflight of every kind changes nothing, and connects to no server', async () => {
  const { context, data_dir } = server
  const commits = commitsOf(data_dir)
  const look = () => ({
    rows: dumped(context.store),
    commits: commits(),
    files: files(data_dir),
    load: context.runs.jobs.load,
    connections,
    elsewhere: elsewhere(),
    calls: priced.calls.length,
  })
  const before = look()
  for (const request of requests) {
    const http = await preflight(server, request as Record<string, unknown>)
    const frame = await client.ask('preflight_workflow', request)
    assert.deepEqual(frame.result, http)
  }
  assert.deepEqual(look(), before)
  assert.deepEqual([before.connections, before.elsewhere, before.calls], [0, [], 0])
})

test('a run of the same graphs is detected by all these checks', async () => {
  const { context } = server
  const commits = commitsOf(server.data_dir)
  const [rows, version] = [dumped(context.store), commits()]
  const { workflow_id } = requests.at(-1) as { workflow_id: string }
  await call(server, 'POST', `/api/workflows/${workflow_id}/run`, { body: {} })
  assert.notEqual(dumped(context.store), rows)
  assert.notEqual(commits(), version)
  assert.ok(connections > 0)
  assert.ok(elsewhere().includes((called.address() as AddressInfo).port))
})
