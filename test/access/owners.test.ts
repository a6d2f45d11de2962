// Isolation of owners: every implemented operation and command is tried by another user in the owner's workspace, and by the owner's user in another
// workspace. Answers about the owner's things are those about unknown things, with as many statements; answers about the caller's own things are
// those from before the owner came; and the owner's data stays the same.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { commandManifest } from '../../generated/messages.ts'
import { operationManifest } from '../../generated/operations.ts'
import { call } from '../helpers/http.ts'
import { connect } from '../helpers/socket.ts'
import { COMMANDS, type CommandCase } from './owners/commands.ts'
import { OPERATIONS, type OperationCase } from './owners/operations.ts'
import { rowsOf } from './owners/rows.ts'
import { type Scene, STRANGERS, type StrangerKind, startScene } from './owners/scene.ts'
import { heard, listings, seen, told } from './owners/views.ts'

/** Served with the preview. */
function isServed({ implementation, preview }: { implementation: string; preview: boolean }): boolean {
  return implementation === 'implemented' || preview
}

let scene: Scene
before(async () => {
  scene = await startScene(listings)
})
after(() => scene[Symbol.asyncDispose]())

/** These answer only about access, and the same to every caller. */
const COMMON = new Set([
  'createEmbedding',
  'getMetrics',
  'getCapabilities',
  'listNodeTypes',
  'listModelCatalog',
  'listLifecycleSchemas',
  'listCollections',
  'putAdminAsset',
  'getLifecycleSchemaFile',
])

async function look(): Promise<unknown> {
  const { server, owner } = scene
  return [rowsOf(server.context.store, owner), await listings(server, owner)]
}

/** The owner's data and answers after the last harmless operation. */
let known: unknown = null

/** Runs an operation of a stranger, and asserts that the owner's data and answers are unchanged. */
async function harmless(what: string, work: () => Promise<void>): Promise<void> {
  const before = known ?? (await look())
  known = null
  await work()
  const now = await look()
  assert.deepEqual(now, before, `${what} changed what the owner has`)
  known = now
}

async function tryOperation(what: string, one: OperationCase, kind: StrangerKind): Promise<void> {
  const { server, things, missing } = scene
  if (one.kind === 'common') return assert.ok(one.why.length > 10)
  const stranger = await scene.stranger(kind)
  if (one.kind === 'own') {
    for (const { method, path, body, form } of one.ask(things)) {
      const headers = { ...stranger.headers, ...form?.headers }
      const { status, text } = await call(server, method, path, { body, raw: form?.raw, headers })
      assert.ok(status < 300, `${what}: ${text}`)
    }
    return
  }
  const other = one.kind === 'listed' ? await scene.newcomer() : stranger
  const [asked, others] = one.kind === 'listed' ? [one.ask, one.ask] : [one.ask(things), one.ask(missing)]
  for (const [at, request] of asked.entries()) {
    // The first operation of a kind, and of a caller, may fill caches.
    for (const caller of [stranger, other]) await seen(scene, caller, others[at]!)
    const [of, nothing] = [await seen(scene, stranger, request), await seen(scene, other, others[at]!)]
    assert.equal(of, nothing, `${what}: ${request.method} ${request.path}`)
    if (one.kind === 'addressed') assert.ok(of.startsWith(`[${expected(one, kind)},`), `${what}: ${of}`)
  }
}

function expected({ gathered, elsewhere }: OperationCase & { kind: 'addressed' }, kind: StrangerKind): number {
  if (elsewhere !== undefined && kind === 'the same user in another workspace') return elsewhere
  return gathered ? 200 : 404
}

describe('no operation shows or changes an owner’s things for a stranger', () => {
  const served = operationManifest.filter(isServed)

  test('each has a case', () => {
    assert.deepEqual(Object.keys(OPERATIONS).sort(), served.map(({ operationId }) => operationId as string).sort())
    for (const { operationId, access } of served) {
      const { kind } = OPERATIONS[operationId as keyof typeof OPERATIONS]
      if (access !== 'public') assert.equal(kind === 'common', COMMON.has(operationId), operationId)
    }
  })

  test('lists of a new caller are those from before there was an owner', async () => {
    assert.equal(await listings(scene.server, await scene.newcomer()), scene.empty)
    for (const kind of STRANGERS) assert.equal(await listings(scene.server, await scene.stranger(kind)), scene.empty)
  })

  for (const [name, one] of Object.entries(OPERATIONS)) {
    for (const kind of STRANGERS) {
      test(`${name}, for ${kind}`, () => harmless(name, () => tryOperation(name, one, kind)))
    }
  }
})

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
    await heard(scene, other, what, missing[at]!)
    const [of, nothing] = [await heard(scene, client, what, data), await heard(scene, other, what, missing[at]!)]
    assert.equal(of, nothing, `${what} ${JSON.stringify(data)}`)
  }
}

describe('no command shows or changes an owner’s things for a stranger', () => {
  const served = Object.values(commandManifest.ws).filter(isServed)

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

// Without this, a misspelled path or field would name a thing that no caller finds.
describe('the owner finds what strangers do not find:', () => {
  for (const { operationId, method, access } of operationManifest) {
    const one = OPERATIONS[operationId as keyof typeof OPERATIONS]
    if (!one || access === 'public' || !['get', 'head'].includes(method)) continue
    if (one.kind !== 'addressed' && one.kind !== 'listed') continue
    test(operationId, async () => {
      const { owner, things } = scene
      for (const [at, request] of (one.kind === 'listed' ? one.ask.slice(0, 1) : one.ask(things)).entries()) {
        const other = one.kind === 'listed' ? request : one.ask(scene.missing)[at]!
        const head = request.path.endsWith('/events') ? { ...request, method: 'HEAD' } : request
        const nothing = await told(scene, await scene.newcomer(), other)
        assert.notEqual(await told(scene, owner, head), nothing, request.path)
      }
    })
  }
})

describe('commands of the owner find the owner’s things', () => {
  // They change these one after the other, so they have a scene of their own, with harmless commands first.
  const order = [
    'stream_input',
    'update_node_properties',
    'end_input_stream',
    'resume_job',
    'cancel_job',
    'request_job_cancellation',
  ]
  const later = (name: string) => order.indexOf(name)

  test('each is answered otherwise than for unknown things', async () => {
    await using own = await startScene(listings)
    await using client = await connect(own.server, { headers: own.owner.headers })
    await using other = await connect(own.server, { headers: (await own.newcomer()).headers })
    const names = (Object.keys(COMMANDS) as (keyof typeof COMMANDS)[]).sort((a, b) => later(a) - later(b))
    for (const name of names) {
      for (const one of [COMMANDS[name]].flat()) {
        if (one.kind !== 'addressed' && one.kind !== 'listed') continue
        const [asked, missing] =
          one.kind === 'listed' ? [[one.data], [one.data]] : [one.ask(own.things), one.ask(own.missing)]
        const answers = []
        for (const [at, data] of asked.entries())
          answers.push([await heard(own, client, name, data), await heard(own, other, name, missing[at]!)])
        assert.ok(
          answers.some(([of, nothing]) => of !== nothing),
          `${name}: ${JSON.stringify(answers)}`,
        )
      }
    }
  })
})
