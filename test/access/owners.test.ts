// Nothing of an owner is there for anybody else: every implemented operation and command is tried by somebody else in the owner's workspace
// and by the owner's user in another one. What they are told of the owner's things is what they are told of things that do not exist, by as
// many statements; and the owner's rows stay as they are.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { commandManifest } from '../../generated/messages.ts'
import { operationManifest } from '../../generated/operations.ts'
import { call } from '../helpers/http.ts'
import { type Client, connect, type Frame } from '../helpers/socket.ts'
import { COMMANDS, type CommandCase } from './owners/commands.ts'
import { type Asked, OPERATIONS, type OperationCase } from './owners/operations.ts'
import { rowsOf } from './owners/rows.ts'
import { type Caller, type Scene, STRANGERS, type StrangerKind, startScene, type Things } from './owners/scene.ts'

let scene: Scene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

/** What a caller sees of one request, and what the database had to do for it. */
async function seen(caller: Caller, { method, path, body }: Asked): Promise<string> {
  const { store } = scene.server.context
  const before = store.statements
  const answer = await call(scene.server, method, path, { body, headers: caller.headers })
  const { date: _date, 'x-request-id': _id, ...headers } = answer.headers
  return nameless(JSON.stringify([answer.status, answer.text, headers, store.statements - before]))
}

/** The text without the names of the owner's things, and of those that do not exist. */
function nameless(text: string): string {
  const names = [scene.things, scene.missing].flatMap((things) => Object.entries(things) as [keyof Things, string][])
  return names
    .sort(([, a], [, b]) => b.length - a.length)
    .reduce(
      (rest, [name, id]) => rest.replaceAll(id, `<${name}>`).replaceAll(encodeURIComponent(id), `<${name}>`),
      text,
    )
}

/** Runs what a stranger does; the owner's rows are the same afterwards. */
async function harmless(what: string, work: () => Promise<void>): Promise<void> {
  const { store } = scene.server.context
  const before = rowsOf(store, scene.owner)
  await work()
  assert.equal(rowsOf(store, scene.owner), before, `${what} changed what the owner has`)
}

async function tryOperation(what: string, one: OperationCase, kind: StrangerKind): Promise<void> {
  if (one.kind === 'common') return assert.ok(one.why.length > 10)
  const stranger = await scene.stranger(kind)
  const asked = one.ask(scene.things)
  if (one.kind === 'own') {
    for (const request of asked) {
      const { status, text } = await call(scene.server, request.method, request.path, {
        ...request,
        headers: stranger.headers,
      })
      assert.ok(status < 300, `${what}: ${text}`)
    }
    return
  }
  const [other, others] = one.kind === 'listed' ? [await scene.newcomer(), asked] : [stranger, one.ask(scene.missing)]
  for (const [at, request] of asked.entries()) {
    // The first of its kind may fill caches.
    await seen(other, others[at]!)
    const [of, nothing] = [await seen(stranger, request), await seen(other, others[at]!)]
    assert.equal(of, nothing, `${what}: ${request.method} ${request.path}`)
    if (one.kind === 'addressed') assert.match(of, /^\[404,/, what)
  }
}

describe('no operation tells a stranger of an owner, nor changes anything', () => {
  const served = operationManifest.filter(({ implementation }) => implementation === 'implemented')

  test('each has a case', () => {
    assert.deepEqual(Object.keys(OPERATIONS).sort(), served.map(({ operationId }) => operationId as string).sort())
    for (const { operationId, access } of served) {
      const { kind } = OPERATIONS[operationId as keyof typeof OPERATIONS]
      if (access !== 'public' && operationId !== 'getMetrics') assert.notEqual(kind, 'common', operationId)
    }
  })

  for (const [name, one] of Object.entries(OPERATIONS)) {
    for (const kind of STRANGERS) {
      test(`${name}, for ${kind}`, () => harmless(name, () => tryOperation(name, one, kind)))
    }
  }
})

// Without this, a misspelt path would be a thing that nobody finds.
describe('the owner is told of what strangers are not', () => {
  for (const { operationId, method, access } of operationManifest) {
    const one = OPERATIONS[operationId as keyof typeof OPERATIONS]
    if (!one || access === 'public' || !['get', 'head'].includes(method)) continue
    if (one.kind === 'addressed') {
      test(operationId, async () => {
        for (const { path } of one.ask(scene.things)) {
          const answer = await call(scene.server, 'HEAD', path, { headers: scene.owner.headers })
          assert.ok([200, 405].includes(answer.status), `${path}: ${answer.status}`)
        }
      })
    }
    if (one.kind === 'listed' && operationId !== 'getSettings') {
      test(operationId, async () => {
        const [first] = one.ask(scene.things)
        assert.notEqual(await seen(scene.owner, first!), await seen(await scene.newcomer(), first!))
      })
    }
  }
})

/** Every frame that answers a command, without ids and times, and the statements that it took. */
async function heard(client: Client, command: string, data: object): Promise<string> {
  const { store } = scene.server.context
  await client.settled()
  const [from, before] = [client.frames.length, store.statements]
  const { job_id } = data as { job_id?: string }
  if (job_id === undefined) await client.ask(command, data, 'asked')
  else {
    client.command(command, data, 'asked')
    // Commands that name one job are carried out in order.
    await client.settledFor(job_id)
  }
  await client.settled()
  const frames = client.frames.slice(from).filter(({ type }) => type !== 'pong' && type !== 'ping')
  return nameless(JSON.stringify([frames.map(withoutNumbers), store.statements - before]))
}

/** Requests of the client itself are numbered on. */
function withoutNumbers(frame: Frame): Frame {
  return frame.request_id?.startsWith('req-') ? { ...frame, request_id: 'req' } : frame
}

async function tryCommand(what: string, one: CommandCase, kind: StrangerKind): Promise<void> {
  if (one.kind === 'common') return assert.ok(one.why.length > 10)
  const stranger = await scene.stranger(kind)
  await using client = await connect(scene.server, { headers: stranger.headers })
  if (one.kind === 'own') {
    for (const data of one.ask(scene.things) as { job_id: string }[]) {
      client.command(what, data)
      const end = (await client.collect(data.job_id)).at(-1)
      assert.equal(end?.status, 'completed', JSON.stringify(end))
    }
    return
  }
  await using other = await connect(scene.server, { headers: (await scene.newcomer()).headers })
  const asked = one.kind === 'listed' ? [one.data] : one.ask(scene.things)
  const missing = one.kind === 'listed' ? [one.data] : one.ask(scene.missing)
  for (const [at, data] of asked.entries()) {
    await heard(other, what, missing[at]!)
    const [of, nothing] = [await heard(client, what, data), await heard(other, what, missing[at]!)]
    assert.equal(of, nothing, `${what} ${JSON.stringify(data)}`)
  }
}

describe('no command tells a stranger of an owner, nor changes anything', () => {
  const served = Object.values(commandManifest.ws).filter(({ implementation }) => implementation === 'implemented')

  test('each has a case', () => {
    assert.deepEqual(Object.keys(COMMANDS).sort(), served.map(({ command }) => command as string).sort())
  })

  for (const [name, cases] of Object.entries(COMMANDS)) {
    for (const [at, one] of [cases].flat().entries()) {
      for (const kind of STRANGERS) {
        test(`${name} ${at + 1}, for ${kind}`, () => harmless(name, () => tryCommand(name, one, kind)))
      }
    }
  }
})
