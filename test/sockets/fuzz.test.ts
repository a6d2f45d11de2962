// Random and mutated frames: the socket stays open, every answer fits the contract, and afterwards a job still runs.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import { commandManifest } from '../../generated/messages.ts'
import { type Client, connect } from '../helpers/socket.ts'
import { type Bench, greeting, newId, startBench } from './kit.ts'

const scale = Number(process.env.SVC_TEST_SCALE ?? 1)
const seed = Number(process.env.SVC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

let bench: Bench
before(async () => {
  bench = await startBench()
})
after(() => bench[Symbol.asyncDispose]())

/** All examples of commands in the contract. */
const examples: unknown[] = readdirSync('spec/examples')
  .filter((name) => name.endsWith('Command'))
  .flatMap((name) => readdirSync(join('spec/examples', name)).map((file) => join('spec/examples', name, file)))
  .map((path) => JSON.parse(readFileSync(path, 'utf8')))

const random = fc.jsonValue({ maxDepth: 4 })
const names = fc.constantFrom(...Object.keys(commandManifest.ws), 'no_such', '__proto__')

const envelope = fc.record(
  {
    command: fc.oneof(names, random),
    data: fc.oneof(fc.object({ maxDepth: 2 }), random),
    request_id: random,
    type: random,
  },
  { requiredKeys: [] },
)

/** An example with a random value replaced by another. */
const mutated = fc.tuple(fc.constantFrom(...examples), random, fc.nat()).map(([example, value, at]) => {
  const copy = structuredClone(example)
  const places = placesOf(copy)
  const place = places[at % places.length]
  if (place) place.holder[place.key] = value
  return copy
})

const frame = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.string({ maxLength: 200, unit: 'binary' }).map((text) => text.toWellFormed()),
  fc
    .oneof(envelope, mutated, random)
    .chain((message) => fc.constantFrom<string | Uint8Array>(JSON.stringify(message), encode(message))),
  fc
    .tuple(
      mutated.map((message) => encode(message)),
      fc.nat(),
      fc.nat(255),
    )
    .map(([bytes, at, byte]) => flipped(bytes, at, byte)),
)

test(`random frames (seed ${seed}) never close the socket, and afterwards a job still runs`, async (t) => {
  t.diagnostic(`SVC_TEST_SEED=${seed}`)
  await using client = await connect(bench.server)
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 20 }), async (frames) => {
      for (const one of frames) client.sendRaw(one)
      await binaryAgain(client)
      assert.ok(client.open)
    }),
    { seed, numRuns: 150 * scale, endOnFailure: true },
  )
  const job_id = newId('after')
  client.command('run_job', { job_id, graph: greeting, params: { name: 'Ada' } })
  const frames = await client.collect(job_id)
  assert.deepEqual(frames.at(-1)?.result, { outputs: { greeting: ['Hello, Ada!'] } })
})

/** A random frame may have changed the mode; the client adopts it, and this waits for all earlier frames. */
async function binaryAgain(client: Client): Promise<void> {
  const request_id = newId('settle')
  client.send({ command: 'set_mode', data: { mode: 'binary' }, request_id })
  await client.next((answer) => answer.mode === 'binary' && answer.request_id === request_id)
}

type Holder = Record<string, unknown>

function placesOf(value: unknown): { holder: Holder; key: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Holder
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesOf(holder[key])])
}

function flipped(bytes: Uint8Array, at: number, byte: number): Uint8Array {
  const copy = Uint8Array.from(bytes)
  if (copy.length > 0) copy[at % copy.length] = byte
  return copy
}
