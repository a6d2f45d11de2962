// Acknowledged means stored, over every transport. A server that starts on the
// data of a kill at an acknowledgement finds what was acknowledged.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { commandManifest } from '../../generated/messages.ts'
import { operationManifest } from '../../generated/operations.ts'
import { type ServingProcess, serve } from '../helpers/process.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'
import type { Upstream } from '../helpers/upstream.ts'
import { copyTo, kill, type Strike } from './moment.ts'
import { Found, type Row, World } from './row.ts'
import { environmentOf, PREVIEW, ROWS, startToolModel, TABLE } from './table.ts'

/** All requests that a read token does not allow, and all methods that change something. */
const CHANGING = [
  ...operationManifest
    .filter(({ method, scope }) => scope === 'write' || (method !== 'get' && method !== 'head'))
    .filter(({ implementation, preview }) => implementation === 'implemented' || preview)
    .map(({ operationId }) => operationId as string),
  ...Object.values(commandManifest)
    .flatMap((commands) => Object.values(commands))
    .filter(({ scope, implementation, preview }) => scope === 'write' && (implementation === 'implemented' || preview))
    .map(({ command }) => command as string),
]

/** The number of rows that a real kill interrupts in a normal run. A long run kills for all rows. */
const KILLS = Math.min(ROWS.length, scaled(2))

test('every operation and command that may change something has a row, or a reason to have none', () => {
  const forgotten = CHANGING.filter((name) => !(name in TABLE))
  assert.deepEqual(forgotten, [], 'add it to test/acknowledgements/operations.ts or commands.ts')
  assert.deepEqual(
    Object.keys(TABLE).filter((name) => !CHANGING.includes(name)),
    [],
    'it changes nothing by the manifest',
  )
  for (const entry of Object.values(TABLE)) if ('nothing' in entry) assert.ok(entry.nothing.length > 20)
  assert.ok(CHANGING.length >= 40)
})

describe('what is acknowledged is stored', () => {
  const folder = temporaryFolder()
  const data_dir = join(folder, 'data')
  let upstream: Upstream
  let server: ServingProcess

  const start = () => serve(data_dir, environmentOf(upstream))

  before(async () => {
    upstream = await startToolModel()
    server = await start()
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Sends the request of a row, interrupts the server at its acknowledgement, and checks the data folder. */
  async function strikeAndLook(row: Row, strike: Strike, left: string): Promise<void> {
    await using world = new World(server)
    const look = await row.send(world, strike)
    if (strike === kill) await server.ended()
    await using found = await startServer({ data_dir: left, environment: PREVIEW })
    await look(new Found(found))
  }

  for (const [at, [name, row]] of ROWS.entries()) {
    test(`${name}, when it is acknowledged`, async () => {
      const copy = join(folder, `copy-${at}`)
      try {
        await strikeAndLook(row, copyTo(data_dir, copy), copy)
      } finally {
        rmSync(copy, { recursive: true, force: true })
      }
    })
  }

  const first = Math.floor(Math.random() * ROWS.length)
  for (let at = 0; at < KILLS; at++) {
    const [name, row] = ROWS[(first + at) % ROWS.length]!
    test(`${name}, where the server is killed then`, async () => {
      await strikeAndLook(row, kill, data_dir)
      server = await start()
    })
  }
})
